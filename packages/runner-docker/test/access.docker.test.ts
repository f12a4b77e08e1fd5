import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionId, type RunnerSession } from "@budgie/core";
import { KIRO_HIDDEN_PATHS, type Access } from "@budgie/core/policy";
import { createDockerPlace, run, type Ran } from "./helpers/docker-place.ts";

const ALL: Access = { workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {} };
const place = createDockerPlace();
let session: RunnerSession;
beforeAll(async () => {
  const { runner } = await place.createRunner();
  session = await runner.openSession(createSessionId());
});
afterAll(() => place[Symbol.asyncDispose]());

async function runWith(access: Partial<Access>, script: string): Promise<Ran> {
  const command = { argv: ["sh", "-c", script] as const, env: {}, projections: [], hidden: KIRO_HIDDEN_PATHS };
  const options = { directory: place.workspace, input: "", access: { ...ALL, ...access } };
  const child = await session.start(command, options);
  const [stdout, stderr, exit] = await Promise.all([text(child.stdout), text(child.stderr), child.exit]);
  return { stdout, stderr, exit };
}

it("is a writable workspace without a network if none is named", async () => {
  const { stdout } = await run(session, place.workspace, "touch new && rm new && echo written; ls /sys/class/net");

  expect(stdout).toBe("written\nlo\n");
});

describe("a read-only workspace", () => {
  const ATTEMPTS = ["touch new", "echo x >given", "rm given", "mkdir d", "mv given g", "chmod 777 given", "ln given l"];

  it("is readable, and cannot be changed in any way that a writable one can", async () => {
    const script = `cat given; ${ATTEMPTS.map((attempt) => `(${attempt}) && echo "[${attempt}]"`).join("; ")}; true`;
    const trial = async (workspace: Access["workspace"]): Promise<string> => {
      writeFileSync(join(place.workspace, "given"), "the code\n");
      return (await runWith({ workspace }, script)).stdout;
    };

    expect(await trial("ro")).toBe("the code\n");
    expect(readFileSync(join(place.workspace, "given"), "utf8")).toBe("the code\n");
    expect(existsSync(join(place.workspace, "new"))).toBe(false);
    expect(await trial("rw")).toContain("[touch new]\n[echo x >given]\n[rm given]\n[mkdir d]\n");
  });

  it("cannot be made writable again from inside", async () => {
    const { stderr, stdout } = await runWith(
      { workspace: "ro" },
      "mount -o remount,rw /workspace && touch again; true",
    );

    expect(stdout).toBe("");
    expect(stderr).not.toBe("");
    expect(existsSync(join(place.workspace, "again"))).toBe(false);
  });

  it("keeps the home writable, and the repository's agents hidden", async () => {
    mkdirSync(join(place.workspace, ".kiro/agents"), { recursive: true });
    writeFileSync(join(place.workspace, ".kiro/agents/x.json"), "{}");

    const { exit, stdout } = await runWith(
      { workspace: "ro" },
      'ls .kiro/agents; echo kept >"$HOME/kept"; cat "$HOME/kept"',
    );

    expect({ stdout, exitCode: exit.exitCode }).toEqual({ stdout: "kept\n", exitCode: 0 });
  });
});

describe("no network", () => {
  const PROBE = "ls /sys/class/net; tail -n +2 /proc/net/route | wc -l";

  it("has only the loopback interface, and no route", async () => {
    expect((await runWith({ egress: { mode: "none", hosts: [] } }, PROBE)).stdout).toBe("lo\n0\n");
  });

  it("has fewer interfaces than the default", async () => {
    const [interfaces, routes] = (await runWith({}, PROBE)).stdout.split(/\n(?=\d+\n$)/);

    expect(interfaces?.split("\n")).toContain("eth0");
    expect(Number(routes)).toBeGreaterThan(0);
  });
});

describe("other limits than the runner's", () => {
  const MiB = 2 ** 20;
  const fill = (mib: number): string => `x=$(head -c ${mib * MiB} /dev/zero | tr "\\0" x); echo filled`;

  it("of memory kill a process that takes more, and which fits without them", async () => {
    const { exit, stdout } = await runWith({ limits: { memoryBytes: 32 * MiB } }, fill(64));

    expect({ stdout, reason: exit.reason, oomKilled: exit.oomKilled }).toEqual({
      stdout: "",
      reason: "out-of-memory",
      oomKilled: true,
    });
    expect((await runWith({}, fill(64))).stdout).toBe("filled\n");
  });

  it("of processes stop a program that starts more, and which works without them", async () => {
    const script = "for i in $(seq 40); do sleep 3 & done; echo started";

    expect((await runWith({ limits: { pids: 20 } }, script)).stdout).toBe("");
    expect((await runWith({}, script)).stdout).toBe("started\n");
  });

  it("of processors slow down a program that uses more", async () => {
    const script =
      "b=$(date +%s%N); i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; e=$(date +%s%N); echo $((e - b)); times";
    // Returns the share of one processor that the program got.
    const shareOf = async (limits: Access["limits"]): Promise<number> => {
      const { stdout } = await runWith({ limits }, script);
      const [, wallNs, minutes, seconds] = /^(\d+)\n(\d+)m([\d.]+)s /.exec(stdout) ?? [];
      return (60 * Number(minutes) + Number(seconds)) / (Number(wallNs) / 1e9);
    };

    const limited = await shareOf({ cpus: 0.1 });
    expect(limited).toBeLessThan(0.2);
    // A busy machine leaves less than a processor.
    expect(await shareOf({})).toBeGreaterThan(1.5 * limited);
  });

  it("may be higher, and hold as far as the machine has that much", async () => {
    const { runner } = await place.createRunner({ limits: { pids: 20 } });
    const tight = await runner.openSession(createSessionId());
    const command = {
      argv: ["sh", "-c", "for i in $(seq 40); do sleep 3 & done; echo started"] as const,
      env: {},
      projections: [],
    };
    const runWithin = async (limits: Access["limits"]) => {
      const child = await tight.start(command, {
        directory: place.workspace,
        input: "",
        access: { ...ALL, limits },
      });
      return text(child.stdout);
    };

    expect(await runWithin({})).toBe("");
    expect(await runWithin({ pids: 500, memoryBytes: 2 ** 60, cpus: 9999 })).toBe("started\n");
  });
});
