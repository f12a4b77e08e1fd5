import { describe, expect, it } from "vitest";
import { createBudgieUser, type BudgieUser } from "./helpers/start-budgie.ts";

const HOOK = `import { writeSync } from "node:fs";
export async function resolve(name, context, next) {
  const found = await next(name, context);
  writeSync(2, "loaded " + found.url + "\\n");
  return found;
}`;
const toDataUrl = (code: string) => `data:text/javascript;base64,${Buffer.from(code).toString("base64")}`;
const REGISTER = `import { register } from "node:module"; register(${JSON.stringify(toDataUrl(HOOK))});`;

// In a bundle nothing could be seen.
const NO_BUNDLE = new URL("fixtures/newer-build.mjs", import.meta.url).href;

/** What was imported until budgie ended. */
async function listImports(user: BudgieUser, argv: readonly string[]): Promise<string> {
  const NODE_OPTIONS = `--import ${toDataUrl(REGISTER)} --import ${NO_BUNDLE}`;
  const env = { NODE_OPTIONS, DOCKER_HOST: "unix:///nowhere/docker.sock" };
  return (await user.run(argv, env)).stderr;
}

describe("createRunner", () => {
  it("loads nothing of the sandbox without --sandbox", async () => {
    await using user = await createBudgieUser();

    const imports = await listImports(user, []);

    expect(imports).toMatch(/^loaded .*\/runner-local\//m);
    expect(imports).not.toMatch(/^loaded .*(?:runner-docker|dockerode|better-sqlite3|egress-proxy)/m);
  });

  it("loads nothing of local mode with --sandbox", async () => {
    await using user = await createBudgieUser();

    const imports = await listImports(user, ["--sandbox"]);

    expect(imports).toMatch(/^loaded .*\/runner-docker\//m);
    expect(imports).not.toMatch(/^loaded .*(?:runner-local|execa)/m);
  });
});
