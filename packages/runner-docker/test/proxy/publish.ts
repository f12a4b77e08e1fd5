import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { RunnerSession } from "@budgie/core";

/**
 * Fills a folder with content for servers: a git repository, an npm package, and an unsigned apt repository with a package.
 * The programs themselves create it, in a sandbox without a network.
 */
export async function publish(session: RunnerSession, folder: string): Promise<void> {
  const child = await session.start(
    { argv: ["sh", "-euc", SCRIPT], env: {}, projections: [] },
    { directory: folder, input: "", access: { workspace: "rw", egress: { mode: "none", hosts: [] }, limits: {} } },
  );
  const [, stderr, { exitCode }] = await Promise.all([text(child.stdout), text(child.stderr), child.exit]);
  if (exitCode !== 0) throw new Error(stderr);
}

/** Writes the metadata that npm requests first, with the package's URL. */
export function publishToNpm(folder: string, registry: string): Promise<void> {
  const version = { name: "tiny", version: "1.0.0", dist: { tarball: `${registry}tiny-1.0.0.tgz` } };
  const packument = { name: "tiny", "dist-tags": { latest: "1.0.0" }, versions: { "1.0.0": version } };
  return writeFile(join(folder, "npm", "tiny"), JSON.stringify(packument));
}

const SCRIPT = `
echo "from the web" >page

git init --quiet source
echo "from git" >source/README
git -C source add README
git -C source -c user.name=nobody -c user.email=nobody@git.test commit --quiet --message first
git clone --quiet --bare source git/code.git

mkdir package npm
echo '{ "name": "tiny", "version": "1.0.0" }' >package/package.json
echo 'module.exports = "from npm";' >package/index.js
npm pack --silent --offline --pack-destination npm ./package

mkdir -p tree/DEBIAN tree/opt apt
printf '%s\\n' 'Package: tiny' 'Version: 1.0' 'Architecture: all' 'Maintainer: nobody' 'Description: tiny' >tree/DEBIAN/control
echo "from apt" >tree/opt/tiny
dpkg-deb --build tree apt/tiny.deb
cd apt
{
  dpkg-deb --field tiny.deb
  echo "Filename: ./tiny.deb"
  echo "Size: $(stat --format %s tiny.deb)"
  echo "SHA256: $(sha256sum tiny.deb | cut -d ' ' -f 1)"
} >Packages
`;
