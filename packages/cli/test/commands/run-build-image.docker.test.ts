import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { createCertificateAuthority, createFakeLlm } from "@budgie/testkit";
import { openEngine, removePrograms } from "../helpers/engine.ts";
import { createNpmRegistry } from "../helpers/npm-registry.ts";
import { createBudgieUser, TEST_IMAGE, toEngineVariables, type BudgieUser } from "../helpers/start-budgie.ts";

const BASE_IMAGE = process.env["BUDGIE_TEST_BASE_IMAGE"] ?? "budgie-base";
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
  const built = await user.command(["build-image", "--tag", tag, "--context", context], toEngineVariables());
  expect(built).toMatchObject({ exitCode: 0, stderr: "" });
}

describe("budgie build-image --with", () => {
  it("fetches a preset's program from npm into an image; it works there, and beside a project's image without Node", async () => {
    await using user = await createBudgieUser();
    await using llm = await createFakeLlm();
    await using registry = await createNpmRegistry({
      image: PROGRAMS_IMAGE,
      folder: `${PROGRAMS}/@qwen-code/qwen-code`,
    });
    const [base, tag] = [`budgie-build-base:${process.pid}`, `budgie-build-with:${process.pid}`];
    const config = join(user.host.home, "budgie.json");
    const project = join(user.workspace, "project");
    mkdirSync(project);
    const workspaces = { [project]: { image: BASE_IMAGE } };
    writeFileSync(config, JSON.stringify({ sandbox: true, sandboxImage: tag, caFile: llm.caFile, workspaces }));

    try {
      await buildBase(user, base);
      const source = ["--build-arg", `BASE_IMAGE=${base}`, "--build-arg", `NPM_REGISTRY=${registry.url}`];
      const argv = ["build-image", "--tag", tag, "--with", "qwen", "--network", "host", ...OFFLINE, ...source];
      const { exitCode, stdout } = await user.command(argv, toEngineVariables());
      expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringMatching(/\nBuilt .*\n$/) });

      await user.command(["agents", "add", "qwen", "--config", config]);
      allowModel(config, `llm.test:${llm.port}=127.0.0.1`);
      const budgie = await user.serve({
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
      const beside = await budgie.ask("qwen", {
        directory: project,
        prompt: "[[run: command -v node || command -v qwen >/workspace/found]] [[say: Found.]]",
      });
      await budgie.client.close();
      await budgie.ended;

      expect(result.structuredContent).toMatchObject({ response: "Written.", isolation: "container" });
      expect(beside.structuredContent).toMatchObject({ response: "Found.", isolation: "container" });
      expect(readFileSync(join(project, "found"), "utf8")).toBe("/opt/agents/bin/qwen\n");
      expect(readFileSync(join(user.workspace, "hello.txt"), "utf8")).toBe("by a preset");
    } finally {
      const docker = await openEngine();
      await removePrograms(tag);
      for (const image of [tag, base])
        await docker
          .getImage(image)
          .remove({ force: true })
          .catch(() => undefined);
    }
  }, 300_000);
});

describe("budgie build-image behind a network that inspects TLS", () => {
  it("says what to type, and with --ca-file has its steps trust the network, but not the image", async () => {
    await using user = await createBudgieUser();
    await using authority = await createCertificateAuthority();
    await using registry = await createNpmRegistry({
      image: TEST_IMAGE,
      folder: "/usr/lib/node_modules/npm/node_modules/abbrev",
      identity: await authority.issue("localhost"),
    });
    const tag = `budgie-build-trusting:${process.pid}`;
    const source = ["BASE_IMAGE=" + TEST_IMAGE, "NPM_REGISTRY=" + registry.url, "NPM_PACKAGES=abbrev"];
    const args = source.flatMap((each) => ["--build-arg", each]);
    // npm waits a minute before it asks again.
    const argv = ["build-image", "--tag", tag, "--network", "host", ...OFFLINE, ...args];
    const docker = await openEngine();

    try {
      const without = await user.run(argv, toEngineVariables());
      const trusting = await user.run([...argv, "--ca-file", authority.file], toEngineVariables());

      expect(without.exitCode).toBe(1);
      expect(without.stderr).toMatch(
        /^budgie: The sandbox image was not built: step \d+\/\d+ ended with code: 1\. Your network seems to inspect TLS: .* --ca-file FILE\.\n$/,
      );
      expect(without.stdout).not.toContain("\u001b");
      expect({ exitCode: trusting.exitCode, stderr: trusting.stderr }, trusting.stdout.slice(-2000)).toEqual({
        exitCode: 0,
        stderr: "",
      });
      const { Config } = await docker.getImage(tag).inspect();
      expect(Config.Labels["dev.budgie.tools"]?.trim()).toBe("abbrev");
      expect(Config.Env?.join(" ")).not.toMatch(/SSL_CERT_FILE|EXTRA_CA_CERTS|CA_BUNDLE|APT_CONFIG/);
      const found = await print(
        docker,
        tag,
        "ls /opt/agents/lib/node_modules; ls /context; grep -rls budgie-test-authority /etc || echo none",
      );
      expect(found).toMatch(/^abbrev\n.*\/context.*\nnone\n$/);
    } finally {
      await docker
        .getImage(tag)
        .remove({ force: true })
        .catch(() => undefined);
    }
  }, 300_000);
});

type Engine = Awaited<ReturnType<typeof openEngine>>;

/** Runs a shell script in a container of an image, and returns its output. */
async function print(docker: Engine, image: string, script: string): Promise<string> {
  const output = new PassThrough();
  const printed = text(output);
  const options = {
    Entrypoint: ["/bin/sh", "-c", script],
    Tty: true,
    HostConfig: { AutoRemove: true, NetworkMode: "none" },
  };
  await docker.run(image, [], output, options);
  output.end();
  return (await printed).replaceAll("\r", "");
}

/** Allows the agent to reach the test's model in place of its vendor's, as users of another provider do. */
function allowModel(config: string, host: string): void {
  const { agents, ...rest } = JSON.parse(readFileSync(config, "utf8")) as { agents: { qwen: object } };
  const qwen = { ...agents.qwen, allowHost: [host] };
  writeFileSync(config, JSON.stringify({ ...rest, allowHost: [host], agents: { qwen } }));
}
