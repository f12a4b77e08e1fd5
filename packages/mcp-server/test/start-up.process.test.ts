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
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { createBudgieUser, type Budgie, type BudgieUser } from "./helpers/start-budgie.ts";

const run = promisify(execFile);
const dist = fileURLToPath(new URL("../dist/", import.meta.url));
const loader = new URL("../bin/load-bundle.js", import.meta.url).href;

// What a first list of tools may cost. Whoever adds one looks at "npm run bench -- startup" before and after.
const LIBRARIES = ["@modelcontextprotocol/sdk", "ajv", "ajv-formats", "commander", "yaml", "zod", "zod-to-json-schema"];

describe("Until its first call budgie", () => {
  it("loads the libraries that a list of tools needs, and no others", async () => {
    await using user = await createBudgieUser();
    const log = join(user.host.home, "modules");
    // What was compiled in place of the bundle, in which it could not be seen.
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
    // The same probes see a call.
    expect(during.children).not.toEqual([]);
    expect(during.sockets).toBeGreaterThan(3);
    expect(listFiles(user.host.home).length).toBeGreaterThan(before.length);
  });
});

describe("The bundle", () => {
  it("is what runs", async () => {
    await using user = await createBudgieUser();
    const log = join(user.host.home, "modules");

    const { client } = await user.start({ env: toWatching(log) });
    await client.listTools();

    expect(readFileSync(log, "utf8")).toContain("bin/budgie.js");
    expect(readFileSync(log, "utf8")).not.toContain("dist/main.js");
  });

  it("gives way to what was compiled after it", async () => {
    await using user = await createBudgieUser();
    const log = join(user.host.home, "modules");
    const later = { NODE_OPTIONS: `--import ${fixture("log-modules")} --import ${fixture("newer-build")}` };

    const { client } = await user.start({ env: { ...toWatching(log), ...later } });
    await client.listTools();

    expect(listLibraries(log)).toEqual(LIBRARIES);
  });

  it("is packed without what it is compared with: unpacking gives each file a date of its own", async () => {
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
  });

  it("comes with what V8 made of it, which V8 takes", async () => {
    const files = readdirSync(join(dist, "bundle")).filter((name) => name.endsWith(".cjs"));
    const made = files.map((name) => join(dist, "bundle", name)).filter((file) => existsSync(toCacheFile(file)));

    const rejected = await compileAll(made);

    expect(made.map((file) => file.replace(/.*\//, ""))).toContain("main.cjs");
    expect(rejected).toEqual(made.map(() => false));
  });

  it("says that it was updated where a file of it is gone, with a stack that names no place of who built it", async () => {
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

  it("loads a file anew that could not be loaded", async () => {
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

  it("is compiled anew where that was made of another text, as long as this one, or is damaged", async () => {
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

    // Of one that is not given to V8, there is nothing to reject.
    expect(rejected).toEqual([false, null, null]);
  });
});

/** Whether V8 rejected what it was given with each file; null if that was nothing. */
async function compileAll(files: readonly string[]): Promise<unknown> {
  const report = `import { compile } from ${JSON.stringify(loader)};
    console.log(JSON.stringify(process.argv.slice(1).map((file) => compile(file).cachedDataRejected)));`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", report, ...files]);
  return JSON.parse(stdout) as unknown;
}

function toCacheFile(file: string): string {
  return `${file}.v8-${process.versions.v8}-${process.platform}-${process.arch}.cache`;
}

/** What stands before each call with these arguments, in its line. */
/** Has every module that is imported written down. */
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

/** With the dates of their last changes. */
function listFiles(folder: BudgieUser["host"]["home"]): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => `${name} ${statSync(join(folder, name)).mtimeMs}`)
    .toSorted();
}

/** What the kernel knows of a budgie: its children, and its sockets, of which three are its standard streams. */
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
