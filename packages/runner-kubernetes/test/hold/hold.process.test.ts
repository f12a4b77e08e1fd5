import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { asFirst, createHoldPlace, HOLD, HOLD_LACK, makeHoldFolder, numbers } from "./hold-place.ts";

const sh = (script: string): { readonly argv: readonly string[] } => ({ argv: ["sh", "-c", script] });

describe.skipIf(HOLD_LACK !== undefined)(`hold (${HOLD_LACK ?? "as process 1"})`, () => {
  it("carries both streams and stdin unchanged, and tells the exit code", async () => {
    await using place = await createHoldPlace();
    place.start(sh("cat; echo problem >&2; exit 7"));
    place.send("I", Buffer.from("question"));
    place.send("I");

    const result = await place.finish();

    expect(result.stdout.toString()).toBe("question");
    expect(result.stderr.toString()).toBe("problem\n");
    expect(result).toMatchObject({ code: 7, signal: 0, taken: 8 });
  });

  it("carries 20 MB on both streams", async () => {
    await using place = await createHoldPlace();
    const script = "head -c 20000000 /dev/zero | tr '\\0' o & head -c 20000000 /dev/zero | tr '\\0' e >&2; wait";

    const { stdout, stderr, code } = await place.run(sh(script));

    expect(code).toBe(0);
    expect(stdout.equals(Buffer.alloc(20_000_000, "o"))).toBe(true);
    expect(stderr.equals(Buffer.alloc(20_000_000, "e"))).toBe(true);
  });

  it("takes a signal for a process whose output waits", async () => {
    await using place = await createHoldPlace();
    place.start(sh("echo first; head -c 20000000 /dev/zero"));
    expect((await place.next()).kind).toBe("P");

    // Nobody reads until the next call, and the socket's buffers are full.
    await place.untilBlocked();
    place.send("K", numbers(9));
    const { signal, stdout } = await place.finish();

    expect(signal).toBe(9);
    expect(stdout.length).toBeLessThan(20_000_006);
    expect(stdout.subarray(0, 5).toString()).toBe("first");
  });

  it("tells the signal that ended the process", async () => {
    await using place = await createHoldPlace();

    expect(await place.run(sh("kill -15 $$"))).toMatchObject({ code: -1, signal: 15 });
  });

  it("says that a command is missing, or its folder", async () => {
    await using place = await createHoldPlace();

    const missing = await place.run({ argv: ["no-such-agent"] });
    const nowhere = await place.run({ argv: ["true"], directory: "/no/such" });

    expect([missing.code, missing.stderr.toString()]).toEqual([125, "no-such-agent: not found in the sandbox\n"]);
    expect([nowhere.code, nowhere.stderr.toString()]).toEqual([125, "/no/such: no such folder in the sandbox\n"]);
  });

  it("looks a command up in the PATH of the process, and unsets what patterns name", async () => {
    await using place = await createHoldPlace({ KEEP: "1", AWS_KEY: "2", MY_TOKEN: "3", OLD: "4", AWS_REGION: "5" });
    const env = ["PATH=/nowhere:/usr/bin", "OLD=new"];

    const result = await place.run({
      argv: ["env"],
      env,
      unset: ["!AWS_REGION", "AWS_*", "*_TOKEN", "!MY_TOKEN", "KEE"],
    });

    expect(result.stdout.toString().trim().split("\n").toSorted()).toEqual([
      "AWS_REGION=5",
      "KEEP=1",
      "OLD=new",
      env[0],
    ]);
  });

  it("kills what ignores SIGTERM, and daemons, before it tells the end", async () => {
    await using place = await createHoldPlace();
    const script = `trap "" TERM; (setsid sh -c 'trap "" TERM HUP; sleep 1000 & sleep 1000' >/dev/null 2>&1 &) ; sleep 0.2; ps -e | grep -c sleep`;

    const first = await place.run(sh(script));
    const second = await place.run(sh("ls /proc | grep -c '^[0-9]'; echo /proc/[0-9]*"));

    expect(first.stdout.toString()).toBe("2\n");
    // Process 1, and those of the second command.
    expect(second.stdout.toString().split("\n")[1]?.split(" ")).toHaveLength(2);
  });

  it("ends everything when the socket ends, also what ignores SIGTERM", async () => {
    await using place = await createHoldPlace();
    place.start(sh(`trap "" TERM; echo ready; while true; do sleep 1; done`));
    expect([(await place.next()).kind, (await place.next()).kind]).toEqual(["P", "O"]);

    place.sidecar.destroy();

    expect(await once(place.child, "exit")).toEqual([1, null]);
  });

  it("refuses more stdin than the window, and a second process", async () => {
    for (const attack of ["stdin", "process", "length"]) {
      await using place = await createHoldPlace();
      place.start(sh("exec sleep 1000"));
      if (attack === "stdin") for (let i = 0; i < 20; i++) place.send("I", Buffer.alloc(65_536));
      if (attack === "process") place.start(sh("true"));
      if (attack === "length") place.send("I", Buffer.alloc(65_537));

      expect(await once(place.child, "exit")).toEqual([1, null]);
    }
  });

  it("does not start without its profile, or as another process than the first", () => {
    const folder = makeHoldFolder();
    try {
      rmSync(join(folder, "profile.bpf"));
      const [command = "", ...args] = asFirst(folder);

      const bare = spawnSync(command, args, { encoding: "utf8" });
      const second = spawnSync(HOLD, [], { encoding: "utf8" });

      expect([bare.status, bare.stderr]).toEqual([
        1,
        "hold: there is no seccomp profile (profile.bpf) beside its socket\n",
      ]);
      expect([second.status, second.stderr]).toEqual([1, "hold: it must be process 1 of a container\n"]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
