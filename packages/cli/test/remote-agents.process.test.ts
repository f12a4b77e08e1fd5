import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startKagentServer, type KagentServer } from "@budgie/testkit";
import { createFakeEngine, WHOLE_ENGINE } from "../../runner-docker/test/helpers/fake-engine.ts";
import { createBudgieUser, TEST_IMAGE, toText, type BudgieUser } from "./helpers/start-budgie.ts";

const TOKEN = { KAGENT_TOKEN: "s3cret" };
const AUTHORIZATION = "Bearer s3cret";

/** Writes a configuration file with a remote agent. Returns the options that name it. */
function configure({ host }: BudgieUser, server: KagentServer, section: Readonly<Record<string, unknown>> = {}) {
  const agent = {
    protocol: "a2a",
    description: "Knows the cluster.",
    url: server.agentUrl("k8s-agent"),
    headers: { Authorization: "Bearer $KAGENT_TOKEN" },
    ...section,
  };
  const file = join(host.home, "budgie.json");
  writeFileSync(file, JSON.stringify({ agents: { k8s: agent } }));
  return ["--config", file];
}

const NO_ENGINE = { DOCKER_HOST: "unix:///nowhere/engine.sock" };
const ENGINE = {
  "GET /version": { ApiVersion: "1.41" },
  "GET /info": WHOLE_ENGINE,
  [`GET /images/${TEST_IMAGE}/json`]: { Id: "sha256:abc", Created: "2026-01-02T03:04:05Z" },
};

describe("an agent elsewhere", () => {
  it.each(["1.0", "0.3"] as const)(
    "answers over A2A %s, and continues its conversation by the session's id",
    async (version) => {
      await using server = await startKagentServer({ version, authorization: AUTHORIZATION });
      await using user = await createBudgieUser();
      const { ask, client } = await user.start({ args: configure(user, server), env: TOKEN });

      const first = await ask("k8s", { prompt: "one" });
      const { sessionId } = first.structuredContent ?? {};
      const second = await ask("k8s", { prompt: "two", sessionId });

      expect(toText(second)).toBe("told: one | two");
      expect(second.structuredContent).toMatchObject({
        isolation: "remote",
        sessionId,
        exit: {},
      });
      expect(user.kiroCalls()).toEqual([]);
      const { tools } = await client.listTools();
      const tool = tools.find(({ name }) => name === "kiro-subagents.k8s");
      expect(tool?.description).toContain("It runs elsewhere and gets the prompt alone");
    },
  );

  it("continues the conversation of another process, and is listed as remote", async () => {
    await using server = await startKagentServer({ authorization: AUTHORIZATION });
    await using user = await createBudgieUser();
    const options = configure(user, server);
    const run = async (...argv: readonly string[]): Promise<string> =>
      (await user.run(argv, { ...NO_ENGINE, ...TOKEN })).stdout;
    const turn = ["-C", user.workspace, "--no-sandbox", ...options];

    await run("run", "k8s", "one", ...turn);

    expect(await run("run", "k8s", "two", "--continue", ...turn)).toContain("told: one | two");
    expect(JSON.parse(await run("sessions", "ls", "--json"))).toMatchObject([{ agent: "k8s", isolation: "remote" }]);
    expect(JSON.parse(await run("runs", "ls", "--json"))).toMatchObject([
      { isolation: "remote" },
      { isolation: "remote" },
    ]);
  });

  it("cannot be called while a variable of its headers is not set", async () => {
    await using server = await startKagentServer({ authorization: AUTHORIZATION });
    await using user = await createBudgieUser();
    const { ask } = await user.start({ args: configure(user, server) });

    expect(toText(await ask("k8s", { prompt: "one" }))).toMatch(/^LOGIN_REQUIRED: .* needs KAGENT_TOKEN/);
  });

  it("takes no egress of a call, which nothing would enforce", async () => {
    await using server = await startKagentServer({ authorization: AUTHORIZATION });
    await using user = await createBudgieUser();
    const { ask } = await user.start({ args: configure(user, server), env: TOKEN });

    expect(toText(await ask("k8s", { prompt: "one", egress: "none" }))).toMatch(/^INPUT_INVALID: .* runs elsewhere/);
  });

  it("whose server is dead fails with what to do, and leaves no session", async () => {
    const server = await startKagentServer();
    await using user = await createBudgieUser();
    const options = configure(user, server);
    await server[Symbol.asyncDispose]();
    const { ask } = await user.start({ args: options, env: TOKEN });

    const answer = await ask("k8s", { prompt: "one" });

    expect(toText(answer)).toMatch(/^RUNNER_UNAVAILABLE: Cannot reach the agent "k8s" at .* \(ECONNREFUSED\)/);
    expect(JSON.stringify(answer)).not.toContain("s3cret");
    expect(JSON.parse((await user.run(["sessions", "ls", "--json"], NO_ENGINE)).stdout)).toEqual([]);
  });

  it("is refused at the start of a sandbox", async () => {
    await using server = await startKagentServer();
    await using user = await createBudgieUser();
    await using engine = await createFakeEngine(ENGINE);

    const { exitCode, stderr } = await user.run(["--sandbox", ...configure(user, server)], engine.hostEnv);

    expect(exitCode).not.toBe(0);
    expect(stderr).toMatch(/The agent "k8s" .* runs elsewhere, where --sandbox does not hold it/);
  });

  it("with allowRemote is called beside sandboxes, without a container", async () => {
    await using server = await startKagentServer({ authorization: AUTHORIZATION });
    await using user = await createBudgieUser();
    await using engine = await createFakeEngine(ENGINE);
    const args = configure(user, server, { allowRemote: true });
    const { ask } = await user.start({ sandbox: true, args, env: { ...engine.hostEnv, ...TOKEN } });

    const first = await ask("k8s", { prompt: "one" });
    const second = await ask("k8s", { prompt: "two", sessionId: first.structuredContent?.["sessionId"] });

    expect(toText(second)).toBe("told: one | two");
    expect(second.structuredContent).toMatchObject({ isolation: "remote" });
  });
});

describe("the agents of a kagent backend", () => {
  it.each(["0.10", "1.0"] as const)("of version %s are tools of a server, and agents of commands", async (kagent) => {
    await using server = await startKagentServer({ kagent, authorization: AUTHORIZATION });
    await using user = await createBudgieUser();
    const file = join(user.host.home, "budgie.json");
    const section = { url: server.url, headers: { authorization: "Bearer ${KAGENT_TOKEN}" } };
    writeFileSync(file, JSON.stringify({ kagent: section }));
    const { ask } = await user.start({ args: ["--config", file], env: TOKEN });
    const run = async (...argv: readonly string[]) => user.run([...argv, "--config", file], { ...NO_ENGINE, ...TOKEN });

    expect(toText(await ask("kagent-k8s-agent", { prompt: "one" }))).toBe("told: one");
    expect((await run("run", "kagent.k8s-agent", "two", "-C", user.workspace, "--no-sandbox")).stdout).toContain(
      "told: two",
    );
    expect((await run("list-tools")).stdout).toContain("kiro-subagents.kagent-k8s-agent");
    expect(JSON.parse((await run("agents", "ls", "--json")).stdout)).toContainEqual(
      expect.objectContaining({ name: "kagent.k8s-agent", protocol: "a2a", from: server.agentUrl("k8s-agent") }),
    );
    expect((await run("run", "kagent.k8s-agent", "three")).stderr).toContain('The agents of "kagent" run elsewhere');
  });
});
