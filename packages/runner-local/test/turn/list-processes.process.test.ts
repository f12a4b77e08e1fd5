import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { hasMark, listProcesses, readProcess } from "../../src/turn/list-processes.ts";
import { createLocalPlace, hasProcessTable } from "../helpers/local-place.ts";

describe.runIf(hasProcessTable)("the process table", () => {
  it("reads a process whose name looks like other fields", async () => {
    await using place = createLocalPlace();
    const program = join(place.root, "a) Z 1 (b");
    copyFileSync("/bin/sleep", program);
    chmodSync(program, 0o755);
    const child = spawn(program, ["60"], { detached: true, env: { MARK: "one" } });

    const entry = readProcess(child.pid ?? 0);
    const listed = await listProcesses();
    child.kill("SIGKILL");
    await once(child, "exit");

    expect(entry).toMatchObject({ pid: child.pid, parent: process.pid, group: child.pid });
    expect(listed).toContainEqual(entry);
    expect(readProcess(child.pid ?? 0)).toBeUndefined();
  });

  it("omits zombies", async () => {
    const parent = spawn("sh", ["-c", "sleep 0.1 & exec sleep 60"]);
    await sleep(300);

    const listed = await listProcesses();
    parent.kill("SIGKILL");

    expect(listed).toContainEqual(expect.objectContaining({ pid: parent.pid }));
    expect(listed).not.toContainEqual(expect.objectContaining({ parent: parent.pid }));
  });

  it("finds a mark only as a whole variable", async () => {
    const child = spawn("sleep", ["60"], { env: { PATH: process.env["PATH"], MARK: "one" } });
    const pid = child.pid ?? 0;

    const found = await Promise.all(["MARK=one", "MARK=on", "ARK=one"].map((mark) => hasMark(pid, mark)));
    child.kill("SIGKILL");
    await once(child, "exit");

    expect(found).toEqual([true, false, false]);
    expect(await hasMark(pid, "MARK=one")).toBe(false);
  });
});
