import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createFakeEngine, WHOLE_ENGINE } from "../../../runner-docker/test/helpers/fake-engine.ts";
import { createBudgieUser, TEST_IMAGE, type Budgie, type BudgieUser } from "../../../cli/test/helpers/start-budgie.ts";

const HOOK = `import { writeSync } from "node:fs";
export async function resolve(name, context, next) {
  const found = await next(name, context);
  writeSync(2, "loaded " + found.url + "\\n");
  return found;
}`;
const toDataUrl = (code: string) => `data:text/javascript;base64,${Buffer.from(code).toString("base64")}`;
const REGISTER = `import { register } from "node:module"; register(${JSON.stringify(toDataUrl(HOOK))});`;

const LOG_LOADED = new URL("../../../cli/test/fixtures/log-loaded.mjs", import.meta.url).href;
// A bundle would hide the modules.
const NO_BUNDLE = new URL("../../../cli/test/fixtures/newer-build.mjs", import.meta.url).href;

/** Returns the modules that budgie imported before it ended. */
async function listImports(user: BudgieUser, argv: readonly string[]): Promise<string> {
  const NODE_OPTIONS = `--import ${toDataUrl(REGISTER)} --import ${NO_BUNDLE}`;
  const env = { NODE_OPTIONS, DOCKER_HOST: "unix:///nowhere/docker.sock" };
  return (await user.run(argv, env)).stderr;
}

const ENGINE = {
  "GET /version": { ApiVersion: "1.41" },
  "GET /info": WHOLE_ENGINE,
  [`GET /images/${TEST_IMAGE}/json`]: { Id: "sha256:abc", Created: "2026-01-02T03:04:05Z" },
};

describe("createRunner", () => {
  it("loads nothing of the sandbox without --sandbox", async () => {
    await using user = await createBudgieUser();

    const imports = await listImports(user, []);

    expect(imports).toMatch(/^loaded .*\/runner-local\//m);
    // Where the engine is decides what agents get by default, and takes no library.
    const ofSandbox =
      /^loaded .*(?:runner-docker\/dist\/(?!is-engine-elsewhere|engine\/find-endpoints|ssh\/parse)|runner-kubernetes|client-node|dockerode|better-sqlite3|egress-proxy)/m;
    expect(imports).not.toMatch(ofSandbox);
  });

  it("loads the runner of clusters with --runner kubernetes alone, and then no other", async () => {
    await using user = await createBudgieUser();
    const images = ["--sandbox-image", "registry.test/agents", "--kubernetes-sidecar-image", "registry.test/budgie"];
    const argv = ["--runner", "kubernetes", "--allow-root", user.host.home, ...images];

    const imports = await listImports(user, argv);

    expect(imports).toMatch(/^loaded .*\/runner-kubernetes\//m);
    const others =
      /^loaded .*(?:runner-docker\/dist\/(?!is-engine-elsewhere|engine\/find-endpoints|ssh\/parse)|dockerode|runner-local)/m;
    expect(imports).not.toMatch(others);
  });

  it("loads nothing of local mode with --sandbox", async () => {
    await using user = await createBudgieUser();

    const imports = await listImports(user, ["--sandbox"]);

    expect(imports).toMatch(/^loaded .*\/runner-docker\//m);
    expect(imports).not.toMatch(/^loaded .*(?:runner-local|execa|runner-kubernetes|client-node)/m);
  });

  it("loads neither TLS nor the engine's library nor SQLite with --sandbox, which asks the engine three things", async () => {
    await using user = await createBudgieUser();
    await using engine = await createFakeEngine(ENGINE);

    // A session made ahead, after the list, needs the engine's library.
    const asked = await listLoaded(user, { sandbox: true, env: { ...engine.hostEnv, BUDGIE_AHEAD: "0" } });
    const called = await listLoaded(user, {}, (budgie) => budgie.ask("code-reviewer", { prompt: "Hello" }));

    expect(asked).toContain("NativeModule http\n");
    expect(asked).not.toMatch(/^NativeModule (?:https|tls)$|node_modules\/(?:dockerode|better-sqlite3|execa)\//m);
    expect(engine.requests.toSorted()).toEqual(Object.keys(ENGINE).toSorted());
    // Control: the same probe sees the modules that a call loads.
    expect(called).toMatch(/node_modules\/better-sqlite3\//);
  });
});

/** Returns the files that a bundled budgie loads until it has listed its tools and run `andThen`, one a line. */
async function listLoaded(
  user: BudgieUser,
  options: NonNullable<Parameters<BudgieUser["start"]>[0]>,
  andThen?: (budgie: Budgie) => Promise<unknown>,
): Promise<string> {
  const log = join(user.host.home, "loaded");
  const watching = { NODE_OPTIONS: `--import ${LOG_LOADED}`, BUDGIE_TEST_LOADED_LOG: log };
  const budgie = await user.start({ ...options, env: { ...options.env, ...watching } });
  await budgie.client.listTools();
  await andThen?.(budgie);
  budgie.child.stdin?.end();
  await budgie.ended;
  return readFileSync(log, "utf8");
}
