import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const execute = promisify(execFile);
const root = fileURLToPath(new URL("../../../../", import.meta.url));

/** Packs published packages as npm would publish them, and returns the files. */
export async function packPackages(folder: string, packages: readonly string[]): Promise<readonly string[]> {
  const names = packages.flatMap((name) => ["--workspace", name]);
  await execute("npm", ["pack", "--silent", "--pack-destination", folder, ...names], { cwd: root });
  return readdirSync(folder)
    .filter((name) => name.endsWith(".tgz"))
    .map((name) => join(folder, name));
}

/** Installs tarballs as npm does for a user. Only better-sqlite3's binary is not downloaded. */
export async function installPacked(
  folder: string,
  files: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<void> {
  mkdirSync(folder);
  // Makes the folder a project. --prefix would do too, but makes npm ignore the machine's configuration, such as certificates.
  writeFileSync(join(folder, "package.json"), "{}");
  const options = ["--prefer-offline", "--no-audit", "--no-fund"];
  await execute("npm", ["install", ...options, ...files], { cwd: folder, env: { ...process.env, ...env } });
}

/** Creates the archive that better-sqlite3 would download, from the checkout's binary. Returns the variable that names its folder. */
export async function createPrebuilt(home: string): Promise<Readonly<Record<string, string>>> {
  const store = createRequire(join(root, "packages/store/package.json"));
  const manifest = store.resolve("better-sqlite3/package.json");
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { readonly version: string };
  const folder = join(home, "prebuilt");
  const binary = "build/Release/better_sqlite3.node";
  cpSync(join(dirname(manifest), binary), join(folder, binary));
  const name = `better-sqlite3-v${version}-node-v${process.versions.modules}-${process.platform}-${process.arch}.tar.gz`;
  await execute("tar", ["czf", name, binary], { cwd: folder });
  return { npm_config_better_sqlite3_local_prebuilds: folder };
}
