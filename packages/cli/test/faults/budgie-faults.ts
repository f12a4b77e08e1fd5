import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { findProcesses } from "../../../runner-docker/test/turn/find-processes.ts";
import { waitFor } from "../helpers/start-budgie.ts";
import { endInTime } from "./helpers/end-in-time.ts";
import type { Fault } from "./fault.ts";
import { PATIENCE_MS } from "./helpers/fault-place.ts";
import { onEngineEvent } from "./helpers/on-engine-event.ts";

/** Faults of budgie, of its client and of their files on the machine. */
export const BUDGIE_FAULTS: readonly Fault[] = [
  {
    name: "budgie is killed during a turn",
    on: "engine",
    async inject({ callAtWork, kill }) {
      const { told } = await callAtWork();
      await kill();
      expect((await told).end).toBe("cut off");
    },
  },
  {
    name: "budgie is killed while the turn's container is created",
    on: "engine",
    async inject({ call, docker, kill, user }) {
      await using created = await onEngineEvent(docker, { home: user.host.home, event: "create", role: "turn" });
      const { told } = call();
      await Promise.race([created.seen, told]);
      await kill();
      expect((await told).end).toBe("cut off");
    },
  },
  {
    name: "budgie is killed while a session's volumes are created",
    on: "engine",
    async inject({ call, docker, kill, user }) {
      await using created = await onEngineEvent(docker, { home: user.host.home, event: "create", role: "session" });
      const { told } = call();
      await Promise.race([created.seen, told]);
      await kill();
      expect((await told).end).toBe("cut off");
    },
  },
  {
    name: "budgie is killed while a session's copy of the directory is filled",
    on: "engine",
    args: ["--workspace", "copy"],
    async inject({ call, docker, kill, user }) {
      await using created = await onEngineEvent(docker, { home: user.host.home, event: "create", role: "copy" });
      const { told } = call();
      await Promise.race([created.seen, told]);
      await kill();
      expect((await told).end).toBe("cut off");
    },
  },
  {
    name: "budgie is killed when the agent on a copy has ended, before its changes are collected",
    on: "engine",
    args: ["--workspace", "copy"],
    async inject({ budgie, call, docker, findTurns, kill, user }) {
      await using ended = await onEngineEvent(docker, { home: user.host.home, event: "die", role: "turn" });
      const { told } = call({ first: "[[sleep 3000]]" });
      await waitFor(async () => (await findTurns()).some(({ id }) => isAgentAtWork(id)), PATIENCE_MS);
      // Stopped, it cannot learn of the end.
      budgie().child.kill("SIGSTOP");
      await ended.seen;
      await kill();
      expect((await told).end).toBe("cut off");
    },
  },
  {
    name: "budgie is killed when the answer is on disk but unread",
    on: "engine",
    async inject(place) {
      const { budgie, call, kill } = place;
      const { told, word } = call();
      budgie().child.stdout?.removeAllListeners("data").pause();
      await waitFor(async () => (await place.showAnswers()).includes(word), PATIENCE_MS);
      await kill();
      expect((await told).end).toBe("cut off");
      expect(await place.showAnswers()).toContain(word);
    },
  },
  {
    name: "locally, budgie is killed during a turn",
    on: "no sandbox",
    async inject({ callAtWork, kill }) {
      const { told } = await callAtWork();
      await kill();
      expect((await told).end).toBe("cut off");
    },
  },
  {
    name: "budgie gets SIGTERM during a turn",
    on: "engine",
    async inject({ budgie, callAtWork }) {
      const { told } = await callAtWork();
      await endInTime(budgie());
      expect((await told).end).not.toBe("answered");
    },
  },
  {
    name: "the client disconnects (end of stdin) during a turn",
    on: "engine",
    async inject({ budgie, callAtWork }) {
      const { told } = await callAtWork();
      budgie().child.stdin?.end();
      expect(await budgie().ended).toMatchObject({ exitCode: 0 });
      expect((await told).end).not.toBe("answered");
    },
  },
  {
    name: "the client dies (both pipes break) during a turn",
    on: "engine",
    async inject({ budgie, callAtWork }) {
      await callAtWork();
      budgie().child.stdout?.destroy();
      budgie().child.stdin?.destroy();
      expect(await budgie().ended).toMatchObject({ exitCode: 0 });
    },
  },
  {
    name: "the client cancels during a turn",
    on: "engine",
    async inject({ callAtWork }) {
      const cancelling = new AbortController();
      const { told } = await callAtWork({ signal: cancelling.signal });
      cancelling.abort();
      expect((await told).end).toBe("cut off");
    },
  },
  {
    name: "the client cancels while the turn's container is created",
    on: "engine",
    async inject({ call, docker, user }) {
      await using created = await onEngineEvent(docker, { home: user.host.home, event: "create", role: "turn" });
      const cancelling = new AbortController();
      const { told } = call({ signal: cancelling.signal });
      await Promise.race([created.seen, told]);
      cancelling.abort();
      expect((await told).end).toBe("cut off");
    },
  },
  {
    name: "the client cancels while the turn's container is removed",
    on: "engine",
    async inject({ call, docker, user }) {
      await using died = await onEngineEvent(docker, { home: user.host.home, event: "die", role: "turn" });
      const cancelling = new AbortController();
      const { told } = call({ signal: cancelling.signal });
      await died.seen;
      cancelling.abort();
      await told;
    },
  },
  {
    name: "another budgie of the user is killed",
    on: "engine",
    async inject({ callAtWork, kill, startAnother }) {
      const mine = await startAnother();
      const { told } = await callAtWork();
      await kill();
      expect((await told).end).toBe("cut off");
      const { structuredContent: facts } = await mine.ask("code-reviewer", { prompt: "[[say: mine]]" });
      expect(facts).toMatchObject({ response: "mine" });
    },
  },
  {
    name: "forty calls come at once",
    on: "engine",
    args: ["--max-concurrent", "3"],
    async inject({ call }) {
      const calls = Array.from({ length: 40 }, () => call());
      for (const { told, word } of calls) expect((await told).text).toContain(word);
    },
  },
  {
    name: "the state directory is deleted during a turn",
    on: "engine",
    async inject({ callAtWork, user }) {
      const { told, word } = await callAtWork({ first: "[[sleep 1000]]" });
      rmSync(join(user.host.home, ".local", "state", "budgie"), { recursive: true });
      expect((await told).text).toContain(word);
    },
  },
];

function isAgentAtWork(container: string): boolean {
  const agents = findProcesses("cmdline", "kiro-cli");
  return findProcesses("cgroup", container).some((pid) => agents.includes(pid));
}
