// node scripts/check-packages.mjs: packs the packages as for a release, and checks their manifests (publint), the types that importers
// get (attw), and that those types need no `@types` that only this repository installs.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
// All packages are ESM for Node 20.19, in which require() loads ESM too.
const UNUSED = ["node10", "node16-cjs"];

const folder = mkdtempSync(join(tmpdir(), "budgie-packages-"));
try {
  const pack = ["pack", "--workspaces", "--json", "--silent", "--pack-destination", folder];
  const packed = JSON.parse(
    execFileSync("npm", pack, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
  );
  for (const { filename, name } of Object.values(packed)) {
    const tarball = new Uint8Array(readFileSync(join(folder, filename)));
    const problems = [...(await lint(tarball)), ...(await checkTypes(tarball)), ...findForeignTypes(name)];
    for (const problem of problems) console.error(`${name}: ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}

async function lint(tarball) {
  const { messages, pkg } = await publint({ pack: { tarball: tarball.buffer }, strict: true });
  return messages.map((message) => formatMessage(message, pkg, { color: false }));
}

async function checkTypes(tarball) {
  const { problems = [] } = await checkPackage(createPackageFromTarballData(tarball));
  return problems
    .filter(({ resolutionKind }) => !UNUSED.includes(resolutionKind))
    .map(({ entrypoint = "", kind }) => `${kind} ${entrypoint}`);
}

/** Lists the modules in the declarations of a package's entries whose types are among its development dependencies. */
function findForeignTypes(name) {
  const root = realpathSync(join(ROOT, "node_modules", name));
  const { devDependencies = {}, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const foreign = Object.keys(devDependencies).filter((dependency) => dependency.startsWith("@types/"));
  // "./lab" is no API.
  const entries = Object.entries(exports ?? {}).filter(([name]) => name !== "./lab");
  const files = entries.map(([, { types }]) => join(root, types));
  const problems = [];
  for (const file of files) {
    for (const [, from] of readFileSync(file, "utf8").matchAll(/(?:from|import\()\s*"([^"]+)"/g)) {
      const next = join(dirname(file), from.replace(/\.[jt]s$/, ".d.ts"));
      if (from.startsWith(".") && !files.includes(next)) files.push(next);
      if (foreign.includes(`@types/${from}`))
        problems.push(`${file.slice(root.length + 1)} needs the types of ${from}`);
    }
  }
  return problems;
}
