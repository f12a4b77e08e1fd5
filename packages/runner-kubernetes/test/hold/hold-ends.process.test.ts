import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createHoldPlace, HOLD_LACK, type HoldPlace } from "./hold-place.ts";

const MIB = 1024 ** 2;
const [SIGKILL, SIGTERM] = [9, "SIGTERM"] as const;
const fillMemory = { argv: ["perl", "-e", '$x = "a" x 300_000_000; print "filled"'] };

describe.skipIf(HOLD_LACK !== undefined)(`the end of hold (${HOLD_LACK ?? "as process 1"})`, () => {
  it("gives its processes the time to end when it gets SIGTERM, and then ends them", async () => {
    const folder = mkdtempSync(join(tmpdir(), "budgie-"));
    chmodSync(folder, 0o777);
    try {
      await using place = await createHoldPlace();
      const patient = `trap 'echo ended > ${folder}/end; exit' TERM; echo ready; while true; do sleep 0.1; done`;
      const stubborn = `trap '' TERM; echo ready; while true; do sleep 0.1; done`;
      place.start({ argv: ["sh", "-c", `(${patient}) & (${stubborn}) & wait`] });
      for (let said = ""; said !== "ready\nready\n";) {
        const { kind, payload } = await place.next();
        if (kind === "O") said += payload.toString();
      }

      process.kill(findHold(place), SIGTERM);

      expect(await once(place.child, "exit")).toEqual([0, null]);
      expect(readFileSync(join(folder, "end"), "utf8")).toBe("ended\n");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("ends at once when it gets SIGTERM and nothing runs", async () => {
    await using place = await createHoldPlace();

    process.kill(findHold(place), SIGTERM);

    expect(await once(place.child, "exit")).toEqual([0, null]);
  });

  it("tells how many processes of an order the kernel killed for memory", async (test) => {
    using group = makeMemoryGroup(64 * MIB);
    test.skip(group === undefined, "this machine gives no group of processes a limit of memory");
    await using place = await createHoldPlace({}, group?.script);

    const one = await place.run(fillMemory);
    const child = await place.run({ argv: ["sh", "-c", `perl -e '${fillMemory.argv[2]}'; echo $?`] });
    const none = await place.run({ argv: ["true"] });

    expect(one).toMatchObject({ code: -1, signal: SIGKILL, oomKills: 1 });
    // A shell outlives the child that was killed.
    expect([child.stdout.toString(), child.code, child.oomKills]).toEqual(["137\n", 0, 1]);
    expect(none).toMatchObject({ code: 0, oomKills: 0 });
  });
});

/** Finds the process id of `hold`, which is the only child of the program that isolates it. */
function findHold({ child }: HoldPlace): number {
  return Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8"));
}

type MemoryGroup = Disposable & {
  /** Enters the group, and shows it where containers have their own */
  readonly script: string;
};

/** Makes a group of processes with a limit of memory, as a container has; `undefined` where the machine's root group has no such limits. */
function makeMemoryGroup(bytes: number): MemoryGroup | undefined {
  const isOlder = existsSync("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  const root = isOlder ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
  const group = join(root, `budgie-${randomUUID()}`);
  try {
    mkdirSync(group);
    writeFileSync(join(group, isOlder ? "memory.limit_in_bytes" : "memory.max"), `${bytes}`);
  } catch {
    if (existsSync(group)) rmdirSync(group);
    return undefined;
  }
  return {
    script: `echo 0 > ${group}/cgroup.procs; mount --bind ${group} ${root}`,
    // A process leaves its group some moments after its end.
    [Symbol.dispose]: () => void execFileSync("sh", ["-c", `until rmdir ${group}; do sleep 0.1; done 2>/dev/null`]),
  };
}
