import { existsSync } from "node:fs";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import { afterAll, describe, expect, it } from "vitest";
import { createSessionId, type RunnerSession, type SessionId } from "@budgie/core";
import { createEngineProxy } from "../helpers/engine-proxy.ts";
import { findProcesses } from "./find-processes.ts";
import { createDockerPlace, run, runCommand, testEngine } from "../helpers/docker-place.ts";

const place = createDockerPlace();
afterAll(() => place[Symbol.asyncDispose]());

// Long enough to block the engine in between.
const ENDING = "sleep 1; echo said; echo so >&2; exit 3";
const NOTHING = "nothing yet";

describe("the end of a turn", () => {
  it.each([
    ["a turn with its whole input", { input: "" }],
    ["a live conversation", {}],
  ])("is known before the engine reports it, with all output, for %s", async (_what, options) => {
    await using proxy = await createEngineProxy();
    const { runner } = await place.createRunner({ hostEnv: proxy.hostEnv });
    const session = await runner.openSession(createSessionId());
    const { child, said } = await start(session, options);
    const answer = proxy.hush();

    expect(await child.exit).toEqual({ exitCode: 3, signal: undefined, reason: undefined, oomKilled: false });
    expect(await said).toEqual(["said\n", "so\n"]);
    // Only now does budgie ask for the end.
    await expect.poll(() => proxy.requestLines().at(-1)).toMatch(/^GET \S+\/json /);
    // Older versions of Podman spend more than a processor on it.
    expect(proxy.requestLines().join()).not.toContain("/wait");

    answer();
    await runner.close();
  });

  it("comes some seconds after the end of a live conversation's input, which an agent ignores", async () => {
    const { runner } = await place.createRunner();
    const session = await runner.openSession(createSessionId());
    const argv = ["sh", "-c", "read line; echo $line; exec tail -f /dev/null"] as const;
    const child = await session.start({ argv, env: {}, projections: [] }, { directory: place.workspace });
    const said = text(child.stdout);

    child.stdin.end("hello\n");

    expect(await child.exit).toMatchObject({ signal: "SIGTERM", reason: undefined });
    expect(await said).toBe("hello\n");
    await runner.close();
  });

  it("is known though its output is unread", async () => {
    const { runner } = await place.createRunner();
    const session = await runner.openSession(createSessionId());
    const child = await session.start(
      { argv: ["head", "-c", "100000", "/dev/zero"], env: {}, projections: [] },
      { directory: place.workspace, input: "" },
    );

    expect(await child.exit).toMatchObject({ exitCode: 0, reason: undefined });
    expect(await text(child.stdout)).toHaveLength(100_000);
    await runner.close();
  });

  it("has the agent's exit code, though a signal arrives together with its end", async () => {
    const { runner } = await place.createRunner();
    const session = await runner.openSession(createSessionId());
    // It signals the init script, as the engine does for a stop.
    const ends = Array.from({ length: 12 }, () =>
      run(session, place.workspace, `trap "" TERM; kill -TERM $PPID; exit 3`),
    );

    for (const end of ends) expect((await end).exit).toMatchObject({ exitCode: 3, signal: undefined });
    await runner.close();
  });

  it("is reported after the end of all processes that the agent left behind", async () => {
    const { runner } = await place.createRunner();
    const session = await runner.openSession(createSessionId());
    const child = await session.start(
      { argv: ["sh", "-c", "trap '' TERM; sleep 60 & sleep 3"], env: {}, projections: [] },
      { directory: place.workspace, input: "" },
    );
    const [found] = await listTurns(session.id);
    const findAll = () => findProcesses("cgroup", found?.Id ?? "no turn");
    await expect.poll(() => findAll().length, { timeout: 3000 }).toBeGreaterThan(3);
    const pids = findAll();
    const living = () => pids.filter((pid) => existsSync(`/proc/${pid}`));

    await Promise.all([text(child.stdout), text(child.stderr), child.exit]);

    expect(living()).toEqual([]);
  });

  it("is not reported by a program that does not know the token", async () => {
    const { runner } = await place.createRunner();
    const session = await runner.openSession(createSessionId());
    const word = String.raw`printf '\000%s 0 0\n'`;

    const { exit, stdout } = await run(session, place.workspace, `${word} "$budgie_token"; ${word} x; exit 3`);

    expect(stdout).toBe("\0 0 0\n\0x 0 0\n");
    expect(exit.exitCode).toBe(3);
  });

  it("has a token that is in no variable of the agent, and comes from none", async () => {
    const { runner } = await place.createRunner();
    const session = await runner.openSession(createSessionId());
    const env = { token: "own", lines: "7", code: "seven", budgie_token: "other", budgie_lines: "9" };

    const { stdout } = await runCommand(
      session,
      { argv: ["env"], env, projections: [] },
      { directory: place.workspace, input: "one\ntwo" },
    );

    expect(stdout).toContain("token=own\n");
    expect(stdout).toContain("lines=7\n");
    expect(stdout).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/);
  });

  it("adds nothing to the output, also if the marker does not fit into the pipe", async () => {
    const { runner } = await place.createRunner();
    const session = await runner.openSession(createSessionId());
    // A killed Node program leaves its pipe non-blocking, so that other writers get EAGAIN.
    const script = `
      fcntl(STDOUT, F_SETFL, O_NONBLOCK | O_WRONLY);
      my ($said, $until) = (0, time + 3);
      while (time < $until) { my $more = syswrite(STDOUT, "x" x 4096); $more ? ($said += $more) : select(undef, undef, undef, 0.05) }
      syswrite(STDERR, $said);
      exit 3;
    `;
    const child = await session.start(
      { argv: ["perl", "-MFcntl", "-e", script], env: {}, projections: [] },
      { directory: place.workspace, input: "" },
    );
    await sleep(4000);

    const [stdout, stderr, exit] = await Promise.all([text(child.stdout), text(child.stderr), child.exit]);
    expect(stderr).toBe(`${stdout.length}`);
    expect(stdout).toMatch(/^x+$/);
    expect(exit.exitCode).toBe(3);
  });

  it("lets the next container start, and its agent only after the previous container's removal", async () => {
    await using proxy = await createEngineProxy();
    const { runner } = await place.createRunner({ hostEnv: proxy.hostEnv });
    const session = await runner.openSession(createSessionId());
    const first = await session.start({ argv: ["cat"], env: {}, projections: [] }, { directory: place.workspace });
    const [found] = await listTurns(session.id);
    // The ended container stays, since budgie removes it only once the engine has reported the end.
    const answer = proxy.hush(new RegExp(`^GET /containers/${found?.Id}/json `));
    first.stdin.end();
    await first.exit;

    const beginning = session.start(
      { argv: ["sh", "-c", "echo begun; sleep 60"], env: {}, projections: [] },
      { directory: place.workspace, input: "" },
    );
    await expect.poll(() => listTurns(session.id), { timeout: 10_000 }).toHaveLength(2);
    expect(await Promise.race([beginning, sleep(1000, NOTHING)])).toBe(NOTHING);
    answer();

    const child = await beginning;
    expect(await listTurns(session.id)).toHaveLength(1);
    expect(String(await once(child.stdout, "data"))).toBe("begun\n");
    await child.stop("cancelled");
    await runner.close();
  });
});

async function listTurns(id: SessionId): Promise<readonly Docker.ContainerInfo[]> {
  const filters = { label: [`dev.budgie.session=${id}`, "dev.budgie.role=turn"] };
  return (await testEngine()).listContainers({ all: true, filters });
}

async function start(session: RunnerSession, options: { readonly input?: string }) {
  const child = await session.start(
    { argv: ["sh", "-c", ENDING], env: {}, projections: [] },
    { directory: place.workspace, ...options },
  );
  return { child, said: Promise.all([text(child.stdout), text(child.stderr)]) };
}
