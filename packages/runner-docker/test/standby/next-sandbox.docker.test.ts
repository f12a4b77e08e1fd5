import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Command } from "@budgie/core";
import { KIRO_HIDDEN_PATHS } from "@budgie/core/policy";
import { createHostHome } from "@budgie/testkit";
import { KIRO_IMAGE, runCommand } from "../helpers/docker-place.ts";
import { findProcesses } from "../turn/find-processes.ts";
import { ALLOWLIST, createStandbyTestPlace, type StandbyTestPlace } from "./standby-place.ts";

let ahead: StandbyTestPlace;
beforeAll(async () => void (ahead = await createStandbyTestPlace()));
afterAll(() => ahead[Symbol.asyncDispose]());

describe("the container of a session's next turn", () => {
  it("serves another command, input and policy than the last turn's, without a call that makes one", async () => {
    await using open = await ahead.openSession();
    await open.run("echo first >~/note", { access: ALLOWLIST });
    const waiting = await open.untilWaiting();

    const before = ahead.proxy.requestLines().length;
    const argv = ["sh", "-c", 'cat ~/note - && echo "$1 $GREETING" && hostname', "sh", "an argument"] as const;
    const command = { argv, env: { GREETING: "hello" }, projections: [], hidden: KIRO_HIDDEN_PATHS };
    const { exit, stdout } = await runCommand(open.session, command, {
      directory: open.workspace,
      input: "input\n",
      access: {
        ...ALLOWLIST,
        egress: { mode: "allowlist", hosts: [{ host: "a.test", port: 443, address: undefined, from: "a test" }] },
      },
    });

    expect([exit.exitCode, stdout.split("\n").slice(0, 3)]).toEqual([0, ["first", "input", "an argument hello"]]);
    const calls = ahead.proxy.requestLines().slice(before);
    const name = `budgie-session-${open.session.id}`;
    expect(calls[0]).toBe(`GET /containers/${name}/json HTTP/1.1`);
    // A container that was just seen to run is not started again.
    expect(calls.join()).not.toMatch(/create|start|attach|archive/);
    expect(await open.untilWaiting()).not.toBe(waiting);
  });

  it("has no command, variable, input or login of a turn, and runs nothing but the init script", async () => {
    await using host = await createHostHome();
    const kiro = await ahead.place.createRunner({ image: KIRO_IMAGE, kiroDataDir: host.dataDir, ahead: 4 });
    await using open = await ahead.openSession(kiro.runner);
    const argv = ["kiro-cli", "chat", "--no-interactive"] as const;
    const env = { KIRO_API_KEY: "ksk-canary-key" };
    await runCommand(
      open.session,
      { argv, env, projections: [], login: "kiro" },
      { directory: open.workspace, input: "a-canary-prompt" },
    );
    const inspected = await ahead.docker.getContainer(await open.untilWaiting()).inspect();
    const processes = findProcesses("cgroup", inspected.Id).map((pid) =>
      ["cmdline", "environ"].map((name) => readFileSync(`/proc/${pid}/${name}`, "latin1")),
    );

    // The engine's init, and a shell.
    expect(processes).toHaveLength(2);
    expect(processes.every(([cmdline]) => cmdline?.includes("budgie_token"))).toBe(true);
    expect(JSON.stringify([inspected, processes])).not.toMatch(
      new RegExp(`ksk-canary-key|${host.canaries.login}|a-canary-prompt|--no-interactive`),
    );
  });

  it("is removed with its session", async () => {
    const open = await ahead.openSession();
    await open.run("true");
    const waiting = await open.untilWaiting();
    await open.session.remove();

    await expect(ahead.docker.getContainer(waiting).inspect()).rejects.toMatchObject({ statusCode: 404 });
    expect(ahead.runner.ahead?.count().turns).toBe(0);
  });

  it("is taken by one of two turns at once", async () => {
    await using open = await ahead.openSession();
    await open.run("true");
    await open.untilWaiting();
    const before = ahead.countCreations();
    const both = await Promise.all([open.run("echo one; sleep 0.5"), open.run("echo two; sleep 0.5")]);

    expect(both.map(({ stdout }) => stdout)).toEqual(["one\n", "two\n"]);
    expect(ahead.countCreations() - before).toBe(1);
  });

  it("leaves with a turn that is cancelled in it", async () => {
    await using open = await ahead.openSession();
    await open.run("true");
    const waiting = await open.untilWaiting();
    const cancelling = new AbortController();
    const command: Command = { argv: ["sh", "-c", "echo up; exec sleep 60"], env: {}, projections: [] };
    const child = await open.session.start(
      { ...command, hidden: KIRO_HIDDEN_PATHS },
      { directory: open.workspace, input: "", signal: cancelling.signal },
    );
    child.stdout.once("data", () => cancelling.abort());

    expect(await child.exit).toMatchObject({ reason: "cancelled" });
    await expect(ahead.docker.getContainer(waiting).inspect()).rejects.toMatchObject({ statusCode: 404 });
  });
});
