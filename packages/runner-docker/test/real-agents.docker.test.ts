import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { createFakeLlm, type FakeLlm } from "@budgie/testkit";
import { createDockerPlace } from "./helpers/docker-place.ts";
import { pinned, PROGRAMS_IMAGE, runWatched } from "./turn/run-watched.ts";

type RealAgent = {
  /** A non-interactive turn on `$PROMPT` with the model at `$BASE_URL` */
  readonly script: string;
  /** Some hosts that this version connects to besides its model */
  readonly wants: readonly string[];
  /** Its output when it starts to wait for its model forever */
  readonly hopeless?: RegExp;
};

const AGENTS: Readonly<Record<string, RealAgent>> = {
  "Qwen Code": {
    script: `mkdir ~/.qwen
      echo '{ "model": { "generationConfig": { "maxRetries": 0 } } }' >~/.qwen/settings.json
      exec qwen --yolo --auth-type openai --openai-api-key none --openai-base-url "$BASE_URL" --model fake \\
      --prompt "$PROMPT"`,
    wants: ["gb4w8c3ygj-default-sea.rum.aliyuncs.com"],
  },
  Codex: {
    script: `exec codex exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox --model fake \\
      -c model_provider=fake -c "model_providers.fake={name='fake',base_url='$BASE_URL'}" "$PROMPT"`,
    wants: ["github.com", "chatgpt.com"],
    hopeless: /waiting for network/,
  },
};

const PROMPT = "[[write /workspace/hello.txt: written on the model's word]] [[say: It is written.]]";

const place = createDockerPlace();
const written = join(place.workspace, "hello.txt");
let llm: FakeLlm;
beforeAll(async () => {
  llm = await createFakeLlm();
});
afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await llm[Symbol.asyncDispose]();
});
beforeEach(() => rmSync(written, { force: true }));

async function turnOf({ hopeless, script }: RealAgent, allowed: string, caFile?: string) {
  const { runner } = await place.createRunner({ image: PROGRAMS_IMAGE, caFile });
  const session = await runner.openSession(createSessionId());
  const before = llm.requests.length;
  const env = { PROMPT, BASE_URL: `https://llm.test:${llm.port}/v1` };
  const command = { argv: ["sh", "-c", script] as const, env };
  const hosts = [pinned(allowed, llm.port)];
  const turn = await runWatched(session, command, { directory: place.workspace, hosts, hopeless });
  return {
    ...turn,
    succeeded: turn.exit.exitCode === 0,
    lastLine: turn.stdout.trimEnd().split("\n").at(-1),
    asked: llm.requests.slice(before),
  };
}

describe.each(Object.entries(AGENTS))("%s", (_, agent) => {
  it("completes a turn with only its model reachable", async () => {
    const { egress, lastLine, stderr, succeeded } = await turnOf(agent, "llm.test", llm.caFile);

    expect({ lastLine, succeeded }, stderr).toEqual({ lastLine: "It is written.", succeeded: true });
    expect(readFileSync(written, "utf8")).toBe("written on the model's word");
    expect(egress.allowed).toEqual([{ host: "llm.test", port: llm.port, count: expect.any(Number) }]);
    expect(egress.denied.map(({ host }) => host)).toEqual(expect.arrayContaining([...agent.wants]));
  });

  it("fails if its model is not allowed, and the report names the model's host", async () => {
    const { asked, egress, succeeded } = await turnOf(agent, "other.test", llm.caFile);

    expect({ asked, succeeded, wrote: existsSync(written) }).toEqual({ asked: [], succeeded: false, wrote: false });
    expect(egress.allowed).toEqual([]);
    expect(egress.denied).toContainEqual({
      host: "llm.test",
      port: llm.port,
      count: expect.any(Number),
      why: "not on the allow-list",
    });
  });

  it("fails without its model's certificate authority", async () => {
    const { asked, egress, succeeded } = await turnOf(agent, "llm.test");

    expect({ asked, succeeded, wrote: existsSync(written) }).toEqual({ asked: [], succeeded: false, wrote: false });
    expect(egress.allowed.map(({ host }) => host)).toEqual(["llm.test"]);
  });
});
