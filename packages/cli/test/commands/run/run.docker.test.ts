import { once } from "node:events";
import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { isContainer, removeKept } from "../../helpers/engine.ts";
import { CALL_VARIABLES, createBudgieUser, TEST_IMAGE, waitFor, type BudgieUser } from "../../helpers/start-budgie.ts";

const toArguments = ({ workspace }: BudgieUser, ...argv: readonly string[]): readonly string[] => [
  "run",
  "shell-worker",
  ...argv,
  "-C",
  workspace,
  "--sandbox-image",
  TEST_IMAGE,
];

it("budgie run prints the answer of a sandboxed turn, and its session can go on", async () => {
  await using user = await createBudgieUser();

  const first = await user.run(toArguments(user, "Keep the word token-parakeet. [[say: Kept.]]"), CALL_VARIABLES);
  const second = await user.run(toArguments(user, "[[recall]]", "--continue"), CALL_VARIABLES);

  expect(first).toMatchObject({ exitCode: 0, stdout: "Kept.\n" });
  expect(second).toMatchObject({ exitCode: 0, stdout: "token-parakeet\n" });
  expect(await removeKept(user)).toEqual([expect.stringMatching(/^budgie-session-[\da-f-]+$/)]);
});

it("budgie run leaves no container when Ctrl-C ends it, and budgie ps measures the turn until then", async () => {
  await using user = await createBudgieUser();
  const child = user.launch(toArguments(user, "[[sleep 600000]]"), CALL_VARIABLES);
  const reported = child.stderr === null ? "" : text(child.stderr);
  const list = async () =>
    JSON.parse((await user.command(["ps", "--json"], CALL_VARIABLES)).stdout) as readonly object[];
  const listed = await waitFor(async () => (await list()).find((run) => "memoryBytes" in run), 60_000);

  child.kill("SIGINT");

  expect(listed).toMatchObject({
    agent: "shell-worker",
    client: "budgie run",
    isolation: "container",
    container: expect.stringMatching(/^[\da-f]{64}$/),
    cpuMs: expect.any(Number),
    memoryBytes: expect.any(Number),
  });
  expect(await once(child, "close")).toEqual([130, null]);
  expect(await reported).toContain("CANCELLED");
  expect((await removeKept(user)).filter(isContainer)).toEqual([]);
});

it("budgie stop ends a sandboxed turn of another process, whose client is told", async () => {
  await using user = await createBudgieUser();
  const { ask } = await user.start({ sandbox: true });
  const call = ask("shell-worker", { prompt: "[[sleep 600000]]" });
  const run = await waitFor(async () => {
    const { stdout } = await user.command(["ps", "--json"], CALL_VARIABLES);
    return (JSON.parse(stdout) as readonly { runId: string; phase: string }[]).find(({ phase }) => phase === "running");
  }, 60_000);

  expect(await user.command(["stop", run.runId])).toMatchObject({ exitCode: 0, stdout: `stopped ${run.runId}\n` });
  expect((await call).structuredContent).toMatchObject({ code: "CANCELLED" });
});

it("budgie run refuses a directory behind a symlink, which an agent may have made", async () => {
  await using user = await createBudgieUser();
  const config = join(user.host.home, ".config");
  mkdirSync(config);
  symlinkSync(config, join(user.workspace, "docs"));
  const argv = toArguments(user, "[[write planted: x]]").with(-3, join(user.workspace, "docs"));

  const { exitCode, stderr, stdout } = await user.run(argv, { ...CALL_VARIABLES, BUDGIE_ALLOW_ROOT: user.workspace });

  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
  expect(stderr).toMatch(/^budgie: WORKSPACE_INVALID: /m);
  expect(readdirSync(config)).toEqual([]);
});
