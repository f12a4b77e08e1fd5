// Runs Qwen Code in a sandbox that can reach only its model. A test server plays the model.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createOwner, createSessionId } from "@budgie/core";
import { PROGRAM_PATHS } from "@budgie/core/policy";
import { createDockerRunner } from "@budgie/runner-docker";
import { createFakeLlm } from "@budgie/testkit";

const [stateDir, directory] = [await mkdtemp(join(tmpdir(), "budgie-")), await mkdtemp(join(tmpdir(), "project-"))];
const [owner, { caFile, port, ...model }] = [createOwner({ stateDir }), await createFakeLlm()];
const runner = await createDockerRunner({ image: "budgie-programs", caFile, owner, stateDir });
const command = {
  argv: ["qwen", "--yolo", "--prompt", "[[write /workspace/hello.txt: written by an agent]] [[say: It is written.]]"],
  env: { OPENAI_API_KEY: "none", OPENAI_BASE_URL: `https://llm.test:${port}/v1`, OPENAI_MODEL: "fake" },
  projections: [],
  home: [{ path: ".qwen/settings.json", content: '{ "security": { "auth": { "selectedType": "openai" } } }' }],
  hidden: PROGRAM_PATHS.qwen,
};
const hosts = [{ host: "llm.test", port, address: "127.0.0.1", from: "the example" }];
const access = { workspace: "rw", egress: { mode: "allowlist", hosts }, limits: {} };
try {
  const session = await runner.openSession(createSessionId());
  const turn = await session.start(command, { directory, access, input: "" });
  const [said] = await Promise.all([text(turn.stdout), turn.exit]);
  const { denied } = await turn.egress();
  console.log(`The agent said: ${said.trim()}\nIt was refused: ${denied.map(({ host }) => host).join(", ")}`);
  console.log(`hello.txt: ${await readFile(join(directory, "hello.txt"), "utf8")}`);
} finally {
  await Promise.all([runner.close(), model[Symbol.asyncDispose]()]);
  await Promise.all([owner.release(), ...[stateDir, directory].map((folder) => rm(folder, { recursive: true }))]);
}
