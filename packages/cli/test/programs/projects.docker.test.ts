import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createCertificateAuthority, installKiroCli } from "@budgie/testkit";
import { removeStages } from "../../../runner-docker/test/image/build-image.ts";
import { openEngine, removePrograms } from "../helpers/engine.ts";
import { GO, NODE, POSTGRES, PYTHON, type Files } from "../fixtures/projects.ts";
import { createNpmRegistry } from "../helpers/npm-registry.ts";
import { createPythonIndex, WHEEL } from "../fixtures/python-index.ts";
import { createBudgieUser, TEST_IMAGE, toEngineVariables, toText, type BudgieUser } from "../helpers/start-budgie.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const BASE_IMAGE = process.env["BUDGIE_TEST_BASE_IMAGE"] ?? "budgie-base";
/** Python, Go and PostgreSQL, and nothing of budgie's */
const PROJECTS_IMAGE = process.env["BUDGIE_TEST_PROJECTS_IMAGE"] ?? "budgie-projects:latest";
const OWN_IMAGE = `budgie-test-sandbox:${process.pid}`;

/** The services of the example in the documentation, with an image of the tests. */
function readDocumentedServices(): Readonly<Record<string, object>> {
  const page = readFileSync(join(ROOT, "docs/workspaces.md"), "utf8");
  const [, json = ""] = /```json\n([^`]*"services"[^`]*)```/.exec(page) ?? [];
  const { workspaces } = JSON.parse(json) as { readonly workspaces: Record<string, { readonly services: object }> };
  const [{ services } = { services: {} }] = Object.values(workspaces);
  return Object.fromEntries(
    Object.entries(services).map(([name, service]: [string, object]) => [name, { ...service, image: PROJECTS_IMAGE }]),
  );
}

let user: BudgieUser;
let printed = "";
beforeAll(async () => {
  user = await createBudgieUser();
  writeFileSync(join(user.host.home, ".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.com\n");
  const context = join(user.host.home, "image");
  mkdirSync(join(context, "docker"), { recursive: true });
  for (const file of ["Dockerfile.sandbox", "docker/entrypoint.sh"])
    copyFileSync(join(ROOT, file), join(context, file));
  await installKiroCli(join(context, "docker/kiro-cli"));
  // Tests of Dockerfile.sandbox read what its steps print, which steps that an engine has already run do not.
  writeFileSync(join(context, "docker/kiro-cli/of-projects"), "");
  const args = ["KIRO_CLI=context", `BASE_IMAGE=${BASE_IMAGE}`, "TOOLS="].flatMap((arg) => ["--build-arg", arg]);
  const built = await user.run(
    ["build-image", "--tag", OWN_IMAGE, "--context", context, "--network", "none", ...args],
    toEngineVariables(),
  );
  printed = built.stdout;
  expect(built).toMatchObject({ exitCode: 0, stderr: "" });
});
afterAll(async () => {
  await removeCaches();
  await user?.[Symbol.asyncDispose]();
  await removePrograms(OWN_IMAGE);
  await (await openEngine()).getImage(OWN_IMAGE).remove({ force: true });
  await removeStages(printed);
});

/** Removes the caches as their user would. */
async function removeCaches(): Promise<void> {
  const directories = ["short", "birds", "cached"].map((name) => join(user.host.home, name)).filter(existsSync);
  for (const directory of directories) rmSync(directory, { recursive: true });
  const { stdout } = await user.run(["gc"], toEngineVariables());
  expect(stdout.match(/^removed volume budgie-cache-/gm)).toHaveLength(directories.length);
}

/** Creates a repository of a project, and a worktree of it. */
function createWorktree(name: string, files: Files): string {
  const [main, worktree] = [join(user.host.home, `${name}-main`), join(user.host.home, name)];
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(main, path)), { recursive: true });
    writeFileSync(join(main, path), content);
  }
  git(user.host.home, "init", "-qb", "trunk", main);
  git(main, "add", "-A");
  git(main, "commit", "-qm", "begin");
  git(main, "worktree", "add", "-q", worktree);
  return worktree;
}

function git(directory: string, ...args: readonly string[]): string {
  const env = { PATH: process.env["PATH"] ?? "", HOME: user.host.home };
  return execFileSync("git", ["-C", directory, ...args], { env, encoding: "utf8" });
}

type Settings = {
  readonly config?: object;
  readonly image?: string;
  readonly env?: object;
  readonly cache?: readonly string[];
  readonly services?: Readonly<Record<string, object>>;
  /** Default `work` */
  readonly branch?: string;
};

/** Has an agent run a project's tests in its image, and then commit on a branch. */
async function work(
  directory: string,
  test: string,
  { branch = "work", cache = [], config = {}, image = PROJECTS_IMAGE, env = {}, services }: Settings = {},
) {
  writeFileSync(
    join(directory, "check.sh"),
    `set -e\n${test}\ngit switch -qc ${branch}\ngit add -A\ngit commit -qm Checked\necho passed\n`,
  );
  const file = join(user.host.home, "budgie.json");
  writeFileSync(file, JSON.stringify({ ...config, workspaces: { [directory]: { image, env, cache, services } } }));
  const budgie = await user.start({ sandbox: true, args: ["--sandbox-image", OWN_IMAGE, "--config", file] });
  try {
    const result = await budgie.ask("shell-worker", { directory, prompt: "[[run: sh check.sh 2>&1]]" });
    return toText(result);
  } finally {
    await budgie.client.close().then(() => budgie.ended);
  }
}

const expectCommit = (directory: string): void =>
  expect(git(directory, "log", "-1", "--format=%an <%ae> %s %D")).toBe("Ada <ada@example.com> Checked HEAD -> work\n");

describe("an agent runs a project's tests in an image without budgie's programs, and commits in a worktree", () => {
  it("of Go, in a worktree that shows one folder of a repository, whose commit leaves the rest", async () => {
    const directory = createWorktree("sum", { ...GO, "other/kept": "kept" });
    git(directory, "sparse-checkout", "set", "--no-cone", "/*", "!/other/");
    const said = await work(directory, "go test ./...", { config: { commitTrailer: true }, env: { CGO_ENABLED: "0" } });

    expect(said).toMatch(/^ok\s+example.com\/sum\s[^]*\npassed$/);
    expectCommit(directory);
    expect(existsSync(join(directory, "other"))).toBe(false);
    expect(git(directory, "show", "HEAD:other/kept")).toBe("kept");
    expect(git(directory, "log", "-1", "--format=%(trailers)")).toMatch(
      /^Budgie-Agent: shell-worker\nBudgie-Run: [\da-f-]{36}\n/,
    );
  });

  it("with a PostgreSQL beside it, as the documentation has it", async () => {
    const directory = createWorktree("database", POSTGRES);
    const said = await work(directory, "sh test.sh", { services: readDocumentedServices() });

    expect(said).toBe("budgie\npassed");
    expectCommit(directory);
  });

  it("of Node, with a dependency from a registry, which a second session has without it", async () => {
    await using authority = await createCertificateAuthority();
    const registry = await createNpmRegistry({
      image: TEST_IMAGE,
      folder: "/usr/lib/node_modules/npm/node_modules/abbrev",
      identity: await authority.issue("registry.test"),
    });
    const directory = createWorktree("short", NODE);
    const settings: Settings = {
      image: TEST_IMAGE,
      cache: ["npm"],
      config: { caFile: authority.file, allowHost: [`registry.test:${registry.port}=127.0.0.1`] },
    };
    const install = `rm -rf node_modules\nnpm install --registry https://registry.test:${registry.port}/`;
    const said = await work(directory, `${install}\nnode --test`, settings);
    expectCommit(directory);
    await registry[Symbol.asyncDispose]();
    const offline = await work(directory, `${install} --offline\nnode --test`, { ...settings, branch: "again" });
    const cold = await work(directory, `${install} --offline`, { ...settings, cache: [], branch: "cold" });

    expect(said).toMatch(/added 1 package[^]*# pass 1[^]*\npassed$/);
    expect(offline).toMatch(/added 1 package[^]*# pass 1[^]*\npassed$/);
    expect(cold).toContain("ENOTCACHED");
  });

  it("of Python, with a dependency from an index, which a second session has without it", async () => {
    await using authority = await createCertificateAuthority();
    const index = await createPythonIndex(await authority.issue("index.test"), PROJECTS_IMAGE);
    const directory = createWorktree("birds", PYTHON);
    const url = `https://index.test:${index.port}/simple/`;
    const settings: Settings = {
      cache: ["pip"],
      config: { caFile: authority.file, allowHost: [`index.test:${index.port}=127.0.0.1`] },
    };
    const begin = "rm -rf .venv\npython3 -m venv .venv\n.venv/bin/pip";
    const [required, test] = ["-r requirements.txt", ".venv/bin/python -m unittest"];
    const download = `${begin} download -q -d "$PIP_CACHE_DIR/files" -i ${url} ${required}`;
    const install = `.venv/bin/pip install -q -i ${url} ${required}`;
    const said = await work(directory, [download, install, test].join("\n"), settings);
    expectCommit(directory);
    await index[Symbol.asyncDispose]();
    const offline = `${begin} install -q --no-index -f "$PIP_CACHE_DIR/files" ${required}`;
    const again = await work(directory, `${offline}\n${test}`, { ...settings, branch: "again" });

    for (const text of [said, again]) expect(text).toMatch(/Ran 1 test[^]*OK\npassed$/);
    // pip asks the index each time, and downloads once.
    expect(index.paths).toEqual(["/simple/birds/", `/${WHEEL}`, "/simple/birds/"]);
  });
});

it("a new session in a project's image, with caches and programs beside it, costs about a turn in budgie's own image", async () => {
  const [own, project] = [join(user.host.home, "usual"), join(user.host.home, "cached")];
  for (const directory of [own, project]) mkdirSync(directory);
  const file = join(user.host.home, "budgie.json");
  const settings = { image: PROJECTS_IMAGE, cache: ["pip"] };
  writeFileSync(file, JSON.stringify({ ahead: 0, workspaces: { [project]: settings } }));
  const budgie = await user.start({ sandbox: true, args: ["--sandbox-image", OWN_IMAGE, "--config", file] });
  const measure = async (directory: string): Promise<number> => {
    const begin = performance.now();
    expect(toText(await budgie.ask("shell-worker", { directory, prompt: "[[run: echo done]]" }))).toBe("done");
    return performance.now() - begin;
  };
  // The first session fills the volumes.
  await measure(project);
  const ratios: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const usual = await measure(own);
    ratios.push((await measure(project)) / usual);
  }
  await budgie.client.close().then(() => budgie.ended);

  const [, median = 0] = ratios.toSorted((one, other) => one - other);
  console.log(`A session in a project's image costs ${median.toFixed(2)} times a turn in budgie's own.`);
  // The figure is 1.2 on a machine with nothing else to do.
  expect(median).toBeLessThan(2);
});
