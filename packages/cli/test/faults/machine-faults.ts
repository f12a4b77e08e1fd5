import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Fault } from "./fault.ts";
import type { FaultPlace } from "./helpers/fault-place.ts";

/** Faults of the machine: its disk, its clock, and budgie's files on it. */
export const MACHINE_FAULTS: readonly Fault[] = [
  {
    name: "the run log breaks",
    on: "no sandbox",
    async inject({ call, user }) {
      expect((await call().told).end).toBe("answered");
      // Not its shared memory: the kernel kills any process that reads a mapped file which was truncated.
      const broken = listLog(user).filter((name) => !name.endsWith("-shm"));
      for (const name of broken) writeFileSync(join(toStateDir(user), name), "broken");
      const { told, word } = call();
      expect((await told).text).toContain(word);
      for (const name of listLog(user)) rmSync(join(toStateDir(user), name));
    },
  },
  {
    name: "the state directory's disk is full",
    on: "engine",
    needs: "root",
    async inject({ atEnd, budgie, call, user }) {
      const folder = toStateDir(user);
      mkdirSync(folder, { recursive: true });
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", folder]);
      atEnd(() => execFileSync("umount", ["-l", folder]));
      const filler = join(folder, "filler");
      execFileSync("sh", ["-c", 'dd if=/dev/zero of="$1" bs=1k 2>/dev/null || true', "sh", filler]);
      const { code, end, text } = await call().told;
      expect(end === "refused" ? code : `${end} ${text}`).toMatch(/^(answered|RUNNER_UNAVAILABLE|STATE_UNUSABLE)$/);
      expect(budgie().child.exitCode).toBeNull();
      rmSync(filler);
    },
  },
  {
    name: "the clock jumps two days ahead during a turn",
    on: "engine",
    needs: "faketime",
    async inject({ call, callAtWork, setClock }) {
      const { facts } = await call().told;
      const { told, word } = await callAtWork({ first: "[[sleep 1500]]" });
      setClock("+2d");
      expect((await told).text).toContain(word);
      const next = call({ input: { sessionId: facts["sessionId"] } });
      expect((await next.told).text).toContain(next.word);
    },
  },
  {
    name: "the clock jumps two days back during a turn",
    on: "engine",
    needs: "faketime",
    async inject({ call, callAtWork, setClock }) {
      const { facts } = await call().told;
      const { told, word } = await callAtWork({ first: "[[sleep 1500]]" });
      setClock("-2d");
      expect((await told).text).toContain(word);
      const next = call({ input: { sessionId: facts["sessionId"] } });
      expect((await next.told).text).toContain(next.word);
    },
  },
];

type User = FaultPlace["user"];

function toStateDir({ host }: User): string {
  return join(host.home, ".local", "state", "budgie");
}

function listLog(user: User): readonly string[] {
  return readdirSync(toStateDir(user)).filter((name) => name.startsWith("runs.sqlite3"));
}
