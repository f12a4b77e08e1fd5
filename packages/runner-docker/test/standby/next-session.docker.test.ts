import { afterAll, describe, expect, it } from "vitest";
import { createSessionId, type Runner, type SessionId } from "@budgie/core";
import { createSessionStore } from "@budgie/core/sessions";
import { BASE_IMAGE, createDockerPlace, KIRO_IMAGE, run, runCommand, testEngine } from "../helpers/docker-place.ts";

const place = createDockerPlace();
afterAll(() => place[Symbol.asyncDispose]());

describe("a session that is made ahead", () => {
  it("is taken by the next session, whose home held nothing, and another one follows", async () => {
    const { runner } = await place.createRunner({ ahead: 4 });
    runner.ahead?.prepare();
    const ready = await untilReady(runner);
    expect(await listRoles(ready)).toEqual(["auth", "home", "session"]);
    expect(await isRunning(ready)).toBe(true);

    const session = await createSessionStore(runner).open({ agent: "an-agent", directory: place.workspace });
    expect(session.id).toBe(ready);
    const search = "find /home /auth -type f ! -path /home/agent/.kiro/settings/cli.json; echo over";
    const { exit, stdout } = await run(session.home, place.workspace, search);

    expect([stdout, exit.exitCode]).toEqual(["over\n", 0]);
    const next = await untilReady(runner);
    expect(next).not.toBe(ready);
    await runner.close();
    expect(await listRoles(next)).toEqual([]);
    expect(await listRoles(ready)).toEqual([]);
  });

  it("serves a command of another image too, since nothing of an image is in it", async () => {
    const { runner } = await place.createRunner({ ahead: 4 });
    runner.ahead?.prepare();
    await untilReady(runner);
    const id = await runner.ahead?.take();
    const session = await runner.openSession(id ?? createSessionId());

    const argv = ["sh", "-c", "command -v kiro-cli"] as const;
    const command = { argv, env: {}, projections: [], image: KIRO_IMAGE };
    const { stdout } = await runCommand(session, command, { directory: place.workspace });

    expect(BASE_IMAGE).not.toBe(KIRO_IMAGE);
    expect([session.id, stdout.trim()]).toEqual([id, "/usr/local/bin/kiro-cli"]);
    await runner.close();
  });

  it("does not exist in a runner that keeps nothing ready", async () => {
    const { runner } = await place.createRunner({ ahead: 0 });

    expect(runner.ahead).toBeUndefined();
    await runner.close();
  });

  it("that was removed by somebody else costs the next session nothing but time", async () => {
    const { runner } = await place.createRunner({ ahead: 4 });
    runner.ahead?.prepare();
    const ready = await untilReady(runner);
    await (await testEngine()).getContainer(`budgie-session-${ready}`).remove({ force: true });

    const session = await createSessionStore(runner).open({ agent: "an-agent", directory: place.workspace });
    const { stdout } = await run(session.home, place.workspace, "echo over");

    expect([session.id, stdout]).toEqual([ready, "over\n"]);
    await runner.close();
  });
});

async function untilReady(runner: Runner): Promise<SessionId> {
  await expect.poll(() => runner.ahead?.count().sessions).toBe(1);
  const sessions = (await runner.listSessions()).filter(({ owner }) => owner === "own");
  const newest = sessions.toSorted((a, b) => b.created.getTime() - a.created.getTime())[0];
  if (newest === undefined) throw new Error("There is no session.");
  return newest.id;
}

async function listRoles(session: SessionId): Promise<readonly (string | undefined)[]> {
  const docker = await testEngine();
  const filters = { label: [`dev.budgie.session=${session}`] };
  const [containers, { Volumes }] = await Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listVolumes({ filters }),
  ]);
  return [...containers, ...Volumes].map(({ Labels }) => Labels["dev.budgie.role"]).toSorted();
}

async function isRunning(session: SessionId): Promise<boolean> {
  return (await (await testEngine()).getContainer(`budgie-session-${session}`).inspect()).State.Running;
}
