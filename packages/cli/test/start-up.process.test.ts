import { execFile, spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { createBudgieUser, type Budgie, type BudgieUser } from "./helpers/start-budgie.ts";

const run = promisify(execFile);
const dist = fileURLToPath(new URL("../dist/", import.meta.url));
const loader = new URL("../bin/load-bundle.js", import.meta.url).href;

// The allowed cost of a first list of tools. Run "npm run bench -- startup" before and after adding one.
const LIBRARIES = "@modelcontextprotocol/sdk ajv ajv-formats commander jsonc-parser zod zod-to-json-schema".split(" ");

describe("until its first call budgie", () => {
  it("loads only the libraries that a list of tools needs", async () => {
    await using user = await createBudgieUser();
    const log = join(user.host.home, "modules");
    // The compiled files in place of the bundle, which would hide the modules.
    const { ask, client } = await user.start({
      program: join(dist, "main.js"),
      env: toWatching(log),
    });

    await client.listTools();
    const first = listLibraries(log);
    await ask("code-reviewer", { prompt: "Hello" });

    expect(first).toEqual(LIBRARIES);
    expect(listLibraries(log)).toEqual(expect.arrayContaining(["better-sqlite3", "execa"]));
  });

  it("writes no file, starts no process and opens no socket", async () => {
    await using user = await createBudgieUser();
    const before = listFiles(user.host.home);
    const budgie = await user.start({ env: { TMPDIR: user.host.home } });

    await budgie.client.listTools();
    const first = { ...lookAt(budgie), files: listFiles(user.host.home) };
    const call = budgie.ask("code-reviewer", { prompt: "[[sleep 500]]" });
    let during = lookAt(budgie);
    for (let looks = 0; looks < 500 && during.children.length === 0; looks++) {
      await new Promise((wake) => setTimeout(wake, 10));
      during = lookAt(budgie);
    }
    await call;

    expect(first).toEqual({ files: before, children: [], sockets: 3 });
    // Control: the same probes see a call.
    expect(during.children).not.toEqual([]);
    expect(during.sockets).toBeGreaterThan(3);
    expect(listFiles(user.host.home).length).toBeGreaterThan(before.length);
  });
});

describe("the bundle", () => {
  it("is what runs", async () => {
    await using user = await createBudgieUser();
    const log = join(user.host.home, "modules");

    const { client } = await user.start({ env: toWatching(log) });
    await client.listTools();

    expect(readFileSync(log, "utf8")).toContain("bin/budgie.js");
    expect(readFileSync(log, "utf8")).not.toContain("dist/main.js");
  });

  it("is ignored if files were compiled after it", async () => {
    await using user = await createBudgieUser();
    const log = join(user.host.home, "modules");
    const later = { NODE_OPTIONS: `--import ${fixture("log-modules")} --import ${fixture("newer-build")}` };

    const { client } = await user.start({ env: { ...toWatching(log), ...later } });
    await client.listTools();

    expect(listLibraries(log)).toEqual(LIBRARIES);
  });

  it("is packed without its timestamp file, because unpacking changes dates", async () => {
    const { stdout } = await run("npm", ["pack", "--dry-run", "--json"], { cwd: join(dist, "..") });

    const [{ files }] = JSON.parse(stdout) as [{ readonly files: readonly { readonly path: string }[] }];
    const paths = files.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(["bin/budgie.js", "bin/load-bundle.js", "dist/bundle/main.cjs"]));
    expect(paths).not.toContain("dist/.tsbuildinfo");
  });

  it("contains the libraries that its package does not depend on, and their licences", () => {
    const titles = /(?<=^={80}\n)\S+ \S+ \(.+\)$/gm;
    const manifest = readFileSync(join(dist, "../package.json"), "utf8");
    const { dependencies, optionalDependencies } = JSON.parse(manifest) as Readonly<Record<string, object>>;

    const licences = readFileSync(join(dist, "bundle/THIRD-PARTY-LICENSES"), "utf8");

    const bundled = [...licences.matchAll(titles)].map(([title]) => title.split(" ")[0]);
    expect(bundled).toEqual(expect.arrayContaining(["commander", "dockerode", "execa", "ipaddr.js", "zod"]));
    expect({ dependencies, optional: Object.keys(optionalDependencies ?? {}) }).toEqual({
      optional: ["better-sqlite3"],
    });
    expect(bundled).not.toContain("better-sqlite3");
    expect(bundled).not.toContain("ajv");
  });

  it.skipIf(isBuiltin("node:sqlite"))("says at the start that SQLite is missing, and the remedy", async () => {
    await using user = await createBudgieUser();
    for (const part of ["bin", "dist/bundle", "package.json"]) {
      cpSync(join(dist, "..", part), join(user.host.home, "budgie", part), { recursive: true });
    }

    const { stderr } = spawnSync(process.execPath, [join(user.host.home, "budgie/bin/budgie.js")], {
      env: { HOME: user.host.home },
      encoding: "utf8",
      input: "",
    });

    expect(stderr).toMatch(
      /^budgie: SQLite is missing, .* not installed\. Install budgie again .*Node 22\.13 or later\.$/m,
    );
  });

  it("is ASCII, which its loader takes it for, and contains V8's code cache, which V8 accepts", async () => {
    const files = readdirSync(join(dist, "bundle")).filter((name) => name.endsWith(".cjs"));
    const made = files.map((name) => join(dist, "bundle", name)).filter((file) => existsSync(toCacheFile(file)));

    const rejected = await compileAll(made);

    expect(files.filter((name) => /[^\0-\x7f]/.test(readFileSync(join(dist, "bundle", name), "utf8")))).toEqual([]);
    expect(made.map((file) => file.replace(/.*\//, ""))).toEqual(expect.arrayContaining(["main.cjs", "yaml.cjs"]));
    expect(rejected).toEqual(made.map(() => false));
  });

  it("says that it was updated if a file is missing, with a stack that names no path of its build", async () => {
    await using user = await createBudgieUser();
    for (const part of ["bin", "dist/bundle", "package.json"]) {
      cpSync(join(dist, "..", part), join(user.host.home, "budgie", part), { recursive: true });
    }
    const bundle = join(user.host.home, "budgie/dist/bundle");
    const installing = readdirSync(bundle).filter((name) => /^run-install.*\.cjs$/.test(name));
    for (const name of installing) rmSync(join(bundle, name));

    const program = join(user.host.home, "budgie/bin/budgie.js");
    const { status, stderr } = spawnSync(process.execPath, [program, "install", "kiro"], {
      env: { HOME: user.host.home },
      encoding: "utf8",
    });

    expect({ status, stderr }).toMatchObject({ status: 70, stderr: expect.stringContaining("Restart budgie.") });
    const frames = stderr.match(/[^\s(]+main\.cjs:/g);
    expect(new Set(frames)).toEqual(new Set(["budgie-mcp/dist/bundle/main.cjs:"]));
  });

  it("loads a file again that could not be loaded", async () => {
    await using user = await createBudgieUser();
    const file = join(user.host.home, "late.cjs");
    const report = `import { createLoader } from ${JSON.stringify(loader)};
      import { writeFileSync } from "node:fs";
      const [file] = process.argv.slice(1);
      const { load } = createLoader();
      try { load(file); } catch { writeFileSync(file, "module.exports = 'whole'"); }
      console.log(load(file));`;

    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", report, file]);

    expect(stdout).toBe("whole\n");
  });

  it("is compiled without a code cache of another text of the same length, and without a damaged one", async () => {
    await using user = await createBudgieUser();
    const [same, edited, damaged] = ["same", "edited", "damaged"].map((name) => {
      const file = join(user.host.home, `${name}.cjs`);
      copyFileSync(join(dist, "bundle/main.cjs"), file);
      copyFileSync(toCacheFile(join(dist, "bundle/main.cjs")), toCacheFile(file));
      return file;
    }) as [string, string, string];
    writeFileSync(edited, readFileSync(edited, "utf8").replace("sub-agent", "sub-tnega"));
    const cache = readFileSync(toCacheFile(damaged));
    cache.writeUInt8(255 - cache.readUInt8(cache.length >> 1), cache.length >> 1);
    writeFileSync(toCacheFile(damaged), cache);

    const rejected = await compileAll([same, edited, damaged]);

    // V8 was given no cache for these two, so it rejected none.
    expect(rejected).toEqual([false, null, null]);
  });
});

/** Returns whether V8 rejected the code cache of each file; null if it was given none. */
async function compileAll(files: readonly string[]): Promise<unknown> {
  const report = `import { compile } from ${JSON.stringify(loader)};
    console.log(JSON.stringify(process.argv.slice(1).map((file) => compile(file).cachedDataRejected)));`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", report, ...files]);
  return JSON.parse(stdout) as unknown;
}

function toCacheFile(file: string): string {
  return `${file}.v8-${process.versions.v8}-${process.platform}-${process.arch}.cache`;
}

/** Returns variables that make a process record every imported module. */
function toWatching(log: string): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--import ${fixture("log-modules")}`, BUDGIE_TEST_MODULE_LOG: log };
}

function fixture(name: string): string {
  return new URL(`fixtures/${name}.mjs`, import.meta.url).href;
}

function listLibraries(log: string): readonly string[] {
  const names = readFileSync(log, "utf8").matchAll(/\/node_modules\/((?:@[^/]+\/)?[^/]+)\//g);
  return [...new Set([...names].map(([, name = ""]) => name))]
    .filter((name) => !name.startsWith("@budgie/"))
    .toSorted();
}

/** Lists files with their modification times. */
function listFiles(folder: BudgieUser["host"]["home"]): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => `${name} ${statSync(join(folder, name)).mtimeMs}`)
    .toSorted();
}

/** Returns the children and sockets of a budgie; three sockets are its standard streams. */
function lookAt({ child: { pid } }: Budgie): { readonly children: readonly string[]; readonly sockets: number } {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const children = tasks.flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean),
  );
  const descriptors = readdirSync(`/proc/${pid}/fd`).map((name) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`);
    } catch {
      return "";
    }
  });
  return { children, sockets: descriptors.filter((target) => target.startsWith("socket:")).length };
}
