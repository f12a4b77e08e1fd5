// Runs Qwen Code in a sandbox in which only its model can be reached. A server of the tests stands for the model.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { PROGRAM_DEFINITIONS } from "@budgie/acp";
import { createOwner, createSessionId } from "@budgie/core";
import { createDockerRunner } from "@budgie/runner-docker";
import { createFakeLlm } from "@budgie/testkit";

const image = process.env.BUDGIE_TEST_PROGRAMS_IMAGE ?? "budgie-programs:latest";
const [stateDir, directory] = [await mkdtemp(join(tmpdir(), "budgie-")), await mkdtemp(join(tmpdir(), "project-"))];
const [owner, model] = [createOwner({ stateDir }), await createFakeLlm()];
const { caFile, port } = model;
const runner = await createDockerRunner({ image, caFile, owner, stateDir, home: homedir(), hostEnv: process.env });

try {
  const session = await runner.openSession(createSessionId());
  const prompt = "[[write /workspace/hello.txt: written by an agent]] [[say: It is written.]]";
  const command = {
    argv: ["qwen", "--yolo", "--prompt", prompt],
    env: { OPENAI_API_KEY: "none", OPENAI_BASE_URL: `https://llm.test:${port}/v1`, OPENAI_MODEL: "fake" },
    projections: [],
    home: [{ path: ".qwen/settings.json", content: '{ "security": { "auth": { "selectedType": "openai" } } }' }],
    hidden: PROGRAM_DEFINITIONS,
  };
  const hosts = [{ host: "llm.test", port, address: "127.0.0.1", from: "the example" }];
  const access = { workspace: "rw", egress: { mode: "allowlist", hosts }, limits: {} };
  const turn = await session.start(command, { directory, access, input: "", signal: AbortSignal.timeout(120_000) });
  const [stdout, stderr, exit] = await Promise.all([text(turn.stdout), text(turn.stderr), turn.exit]);
  const { denied } = await turn.egress;
  console.log(`The agent said: ${stdout.trim()}\nIt was refused: ${denied.map(({ host }) => host).join(", ")}`);
  if (exit.exitCode !== 0) throw new Error(stderr);
  console.log(`hello.txt: ${await readFile(join(directory, "hello.txt"), "utf8")}`);
} finally {
  await runner.close();
  await Promise.all([owner.release(), model[Symbol.asyncDispose]()]);
  for (const folder of [stateDir, directory]) await rm(folder, { recursive: true });
}
