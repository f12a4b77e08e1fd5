import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findClusterLack } from "@budgie/testkit";
import { connectClient } from "../helpers/connect-client.ts";
import { createTerminal } from "../commands/run/create-terminal.ts";
import { runHere } from "../helpers/run-here.ts";
import { createBudgieUser, waitFor, type BudgieUser } from "../helpers/start-budgie.ts";
import { startUserCluster, type UserCluster } from "./start-user-cluster.ts";

const PODS = 8;
const AGENTS = 20;
const LIMITS = { memory: "192m", disk: "20m" };
const FAILING = 7;

type Answer = {
  readonly results?: readonly {
    readonly code?: string;
    readonly response?: string;
    readonly sessionId: string;
    readonly copy?: { readonly changes?: { readonly changeId: string } };
  }[];
  readonly reviewToken?: string;
  readonly diff?: string;
  readonly applied?: number;
};

const lack = findClusterLack();

describe.skipIf(lack !== undefined)("on a cluster", () => {
  let cluster: UserCluster;
  let user: BudgieUser;

  beforeAll(async () => {
    cluster = await startUserCluster("turns", PODS);
    user = await createBudgieUser();
    const { images, kubeconfig } = cluster;
    const where = { runner: "kubernetes", kubeconfig, kubernetesNamespace: "budgie" };
    const file = join(user.host.home, ".config/budgie/config.json");
    mkdirSync(dirname(file), { recursive: true });
    const config = {
      ...where,
      ...images,
      limits: LIMITS,
      allowRoot: [user.workspace],
      maxParallel: AGENTS,
      maxConcurrent: 12,
      retry: "never",
      sweepEvery: "0",
    };
    writeFileSync(file, JSON.stringify(config));
    writeFileSync(join(user.workspace, "README"), "hello\n");
  }, 300_000);
  afterAll(async () => {
    await user?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  }, 60_000);

  it("budgie shell is a terminal in the jail, in the session that the agent has", async () => {
    const terminal = createTerminal({ columns: 91, rows: 33 });
    const made = await user.run(["exec", "shell-worker", "-C", user.workspace, "--", "sh", "-c", "echo kept >~/note"]);
    const program = runHere(["shell", "shell-worker", "--continue", "-C", user.workspace], {
      env: { PATH: process.env["PATH"], HOME: user.host.home, TERM: "screen" },
      home: user.host.home,
      terminal,
    });
    const errors = text(program.stderr);
    let shown = "";
    program.stdout.on("data", (chunk: Buffer) => (shown += chunk.toString()));
    const after = async (line: string, sign: string): Promise<void> => {
      program.stdin.write(line);
      await waitFor(() => shown.includes(sign), 60_000);
    };

    await waitFor(() => terminal.isRaw(), 60_000);
    await after("echo size $(stty size) $TERM $(cat ~/note README)\r", "size 33 91 screen kept hello");
    terminal.resize({ columns: 70, rows: 20 });
    await after('while [ "$(stty size)" != "20 70" ]; do sleep 0.1; done; echo "now $(stty size)"\r', "now 20 70");
    await after("sleep 600\r", "sleep 600");
    await after('\u0003echo "interr""upted"\r', "interrupted");
    // The jail, whose filters are two: a socket of UDP is denied.
    await after('perl -MSocket -e \'print socket(S, AF_INET, SOCK_DGRAM, 0) ? "op" : "den", "ied\\n"\'\r', "denied");
    await after(
      'grep -c "^Seccomp_filters:.*[2-9]" /proc/self/status; echo made >made; echo "wri""tten"; exit 5\r',
      "written",
    );

    expect(made, made.stderr).toMatchObject({ exitCode: 0 });
    expect(await program.ended).toMatchObject({ exitCode: 5 });
    expect(await errors).toMatch(/session [\da-f-]{36}/);
    expect(terminal.isRaw()).toBe(false);
    expect((await user.run(["changes", "ls"])).stdout).toMatch(/ 1 added /);
    expect(await cluster.listObjects()).toBe("");
  }, 300_000);

  it("budgie logs prints what the agent of a turn has printed, and goes on until its end", async () => {
    const script = "echo first; sleep 600";
    const ended = user.command(["exec", "shell-worker", "-C", user.workspace, "--", "sh", "-c", script]);
    await waitFor(async () => (await user.command(["logs"])).stdout === "first\n", 120_000);

    const followed = user.command(["logs", "--follow"]);
    const stopped = await user.command(["stop"]);

    expect(stopped).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await followed).toMatchObject({
      exitCode: 0,
      stdout: "first\n",
      stderr: expect.stringMatching(/ended: CANC/),
    });
    expect((await ended).exitCode).not.toBe(0);
    expect(await cluster.listObjects()).toBe("");
  }, 300_000);

  it("invoke_parallel has twenty agents work in turn where eight have room, keeps partial failures, and one's changes are applied", async () => {
    const { home } = user.host;
    const env = { PATH: process.env["PATH"], HOME: home };
    const { client } = await connectClient(runHere([], { env, home }), {
      workspace: user.workspace,
      clientName: "test",
    });
    const call = async (name: string, given: Readonly<Record<string, unknown>>) => {
      const options = { timeout: 280_000, onprogress: ({ message = "" }) => void told.push(message) };
      return (await client.callTool({ name, arguments: given }, undefined, options)).structuredContent as Answer;
    };
    const told: string[] = [];
    const agents = Array.from({ length: AGENTS }, (_, at) => ({
      agent: "shell-worker",
      prompt: at === FAILING ? "[[fault crash]]" : `[[run: echo ${at} >own-${at}; cat own-*]]`,
    }));

    const { results = [] } = await call("invoke_parallel", { directory: user.workspace, agents });

    const answers = results.map(({ code, response }) => code ?? response?.trim());
    expect(answers).toEqual(agents.map((_, at) => (at === FAILING ? "AGENT_CRASHED" : String(at))));
    expect(new Set(results.map(({ sessionId }) => sessionId)).size).toBe(AGENTS);
    expect(told).toContainEqual(expect.stringMatching(/\(\d+ of 20\): waiting, 1st in line/));
    expect(told).toContainEqual(expect.stringMatching(/\(\d+ of 20\): starting, .*quota/));
    expect(readdirSync(user.workspace)).not.toContain("own-3");

    const { changeId } = results[3]?.copy?.changes ?? {};
    const { diff, reviewToken } = await call("kiro-subagents.changes", { changeId });
    const { applied } = await call("kiro-subagents.apply_changes", { changeId, reviewToken });
    expect(diff).toMatch(/own-3\n(?:.*\n)*\+3/);
    expect(applied).toBe(1);
    expect(readdirSync(user.workspace).filter((name) => name.startsWith("own-"))).toEqual(["own-3"]);
    await client.close();
    await waitFor(async () => (await cluster.listObjects()) === "", 60_000);
  }, 300_000);
});
