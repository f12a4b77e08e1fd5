import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { isContainer, removeKept } from "../../helpers/engine.ts";
import {
  budgiePath,
  CALL_VARIABLES,
  createBudgieUser,
  TEST_IMAGE,
  waitFor,
  type BudgieUser,
} from "../../helpers/start-budgie.ts";

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

it("the README's agent answers the README's call, both as they are written", async () => {
  await using user = await createBudgieUser();
  const readme = readFileSync(new URL("../../../../../README.md", import.meta.url), "utf8");
  const [, agent = ""] = /^```json\n(.*?)^```$/ms.exec(readme) ?? [];
  const [, command = "", printed = ""] = /^```console\n\$ (.*?[^\\]\n)(.*?)^```$/ms.exec(readme) ?? [];
  writeFileSync(join(user.host.agentsDir, "code-reviewer.json"), agent);
  writeFileSync(join(user.workspace, "login.js"), "");
  const script = `budgie() { "${process.execPath}" "${budgiePath}" "$@"; }\n${command}`;
  const { BUDGIE_SWEEP_EVERY: _, ...variables } = CALL_VARIABLES;
  const env = { ...variables, PATH: process.env["PATH"] ?? "", HOME: user.host.home };

  const { stderr, stdout } = await promisify(execFile)("bash", ["-c", script], { cwd: user.workspace, env });

  expect([stdout, stderr].map(toOrdinary)).toEqual(splitPrinted(printed).map(toOrdinary));
  await removeKept(user);
});

/** Returns what the README's call prints to stdout and to stderr. */
function splitPrinted(printed: string): readonly [string, string] {
  const lines = printed.split(/(?<=\n)/);
  const isError = (line: string): boolean => line.startsWith("budgie: ");
  return [lines.filter((line) => !isError(line)).join(""), lines.filter(isError).join("")];
}

/** Replaces what differs from one machine, user and call to another. */
function toOrdinary(output: string): string {
  return output
    .replace(/^budgie: Root started budgie: .*\n/m, "")
    .replace(/^\d+$/m, "UID")
    .replace(/[\da-f]{8}-[\da-f-]{27}/g, "ID")
    .replace(/ in [\d.]+ (?:ms|s)/g, " in TIME");
}

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
