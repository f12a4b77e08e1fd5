import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createFakeLlm } from "@budgie/testkit";
import { openEngine } from "../helpers/engine.ts";
import { createNpmRegistry } from "../helpers/npm-registry.ts";
import { createBudgieUser, toEngineVariables, type BudgieUser } from "../helpers/start-budgie.ts";

const PROGRAMS_IMAGE = process.env["BUDGIE_TEST_PROGRAMS_IMAGE"] ?? "budgie-programs:latest";

const PROGRAMS = "/opt/programs/node_modules";

// Neither Kiro's installer nor Debian's packages can be fetched where the tests run.
const OFFLINE = ["--build-arg", "KIRO_CLI=none", "--build-arg", "TOOLS="];

/** Builds an image with npm, but without the programs that the test adds. */
async function buildBase(user: BudgieUser, tag: string): Promise<void> {
  const context = join(user.host.home, "base");
  mkdirSync(join(context, "docker"), { recursive: true });
  const path = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  writeFileSync(
    join(context, "Dockerfile"),
    `FROM ${PROGRAMS_IMAGE}\nRUN rm -r ${PROGRAMS}/@qwen-code\nENV PATH=${path}\n`,
  );
  const built = await user.run(["build-image", "--tag", tag, "--context", context], toEngineVariables());
  expect(built).toMatchObject({ exitCode: 0, stderr: "" });
}

describe("budgie build-image --with", () => {
  it("fetches a preset's program from npm into an image, in which the agent of the preset then works", async () => {
    await using user = await createBudgieUser();
    await using llm = await createFakeLlm();
    await using registry = await createNpmRegistry({
      image: PROGRAMS_IMAGE,
      folder: `${PROGRAMS}/@qwen-code/qwen-code`,
    });
    const [base, tag] = [`budgie-build-base:${process.pid}`, `budgie-build-with:${process.pid}`];
    const config = join(user.host.home, "budgie.json");
    writeFileSync(config, JSON.stringify({ sandbox: true, sandboxImage: tag, caFile: llm.caFile }));

    try {
      await buildBase(user, base);
      const source = ["--build-arg", `BASE_IMAGE=${base}`, "--build-arg", `NPM_REGISTRY=${registry.url}`];
      const argv = ["build-image", "--tag", tag, "--with", "qwen", "--network", "host", ...OFFLINE, ...source];
      const { exitCode, stdout } = await user.run(argv, toEngineVariables());
      expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringMatching(/\nBuilt .*\n$/) });

      await user.run(["agents", "add", "qwen", "--config", config]);
      allowModel(config, `llm.test:${llm.port}=127.0.0.1`);
      const budgie = await user.start({
        sandbox: true,
        args: ["--sandbox-image", tag, "--config", config],
        env: {
          OPENAI_API_KEY: "test-key",
          OPENAI_BASE_URL: `https://llm.test:${llm.port}/v1`,
          OPENAI_MODEL: "fake",
        },
      });
      const result = await budgie.ask("qwen", {
        prompt: "[[write /workspace/hello.txt: by a preset]] [[say: Written.]]",
      });
      await budgie.client.close();

      expect(result.structuredContent).toMatchObject({ response: "Written.", isolation: "container" });
      expect(readFileSync(join(user.workspace, "hello.txt"), "utf8")).toBe("by a preset");
    } finally {
      const docker = await openEngine();
      for (const image of [tag, base])
        await docker
          .getImage(image)
          .remove({ force: true })
          .catch(() => undefined);
    }
  }, 300_000);
});

/** Allows the agent to reach the test's model in place of its vendor's, as users of another provider do. */
function allowModel(config: string, host: string): void {
  const { agents, ...rest } = JSON.parse(readFileSync(config, "utf8")) as { agents: { qwen: object } };
  const qwen = { ...agents.qwen, allowHost: [host] };
  writeFileSync(config, JSON.stringify({ ...rest, allowHost: [host], agents: { qwen } }));
}
