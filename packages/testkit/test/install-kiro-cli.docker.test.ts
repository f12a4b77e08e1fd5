import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { installKiroCli } from "@budgie/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { MARKER } from "./kiro-cli/run-kiro-cli.ts";

const docker = (...argv: readonly string[]) => promisify(execFile)("docker", argv);
const base = process.env["BUDGIE_TEST_BASE_IMAGE"] ?? "budgie-base";
const image = `budgie-testkit-${randomUUID()}`;

// As strict as a sandbox: an ordinary user, and only the home is writable.
const SANDBOX =
  "--rm -i --init --user 1234:1234 --read-only --network none --cap-drop ALL --security-opt no-new-privileges " +
  "--tmpfs /home/agent:uid=1234,mode=0700 --env HOME=/home/agent --env KIRO_API_KEY=ksk_1";

beforeAll(async () => {
  const context = await mkdtemp(join(tmpdir(), "budgie-testkit-"));
  await installKiroCli(join(context, "tree"));
  await writeFile(join(context, "Dockerfile"), `FROM ${base}\nCOPY tree/ /usr/local/\n`);
  await docker("build", "--quiet", "--tag", image, context);
  await rm(context, { recursive: true });
});

afterAll(() => docker("image", "rm", "--force", image));

it("answers in a container that has no Node, as an ordinary user on a read-only file system", async () => {
  const { stdout } = await runInContainer([], "[[say: here I am]]");

  expect(stdout).toBe(`${MARKER}here I am\n`);
});

it("remembers a conversation in the container", async () => {
  const chat = "kiro-cli chat --no-interactive";
  const script = `echo "keep token-one" | ${chat} >/dev/null && echo "[[recall]]" | ${chat} --resume`;

  const { stdout } = await runInContainer([], "", ["sh", "-c", script]);

  expect(stdout).toBe(`${MARKER}token-one\n`);
});

it("is killed for memory under a memory limit", async () => {
  const { exitCode } = await runInContainer(["--memory", "128m", "--memory-swap", "128m"], "[[fault oom]]");

  expect(exitCode).toBe(137);
});

async function runInContainer(
  options: readonly string[],
  input: string,
  command: readonly string[] = ["kiro-cli", "chat", "--no-interactive"],
) {
  const child = spawn("docker", ["run", ...SANDBOX.split(" "), ...options, image, ...command]);
  child.stdin.end(input);
  const pieces: Buffer[] = [];
  child.stdout.on("data", (piece: Buffer) => pieces.push(piece));
  const [exitCode] = (await once(child, "close")) as [number];
  return { stdout: Buffer.concat(pieces).toString(), exitCode };
}
