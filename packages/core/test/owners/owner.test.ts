import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createOwner, type Owner } from "@budgie/core";
import { readOwnProcess, type OwnerProcess } from "@budgie/core/owners";
import type { OwnerOptions } from "../../src/owners/owner.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

describe("createOwner", () => {
  it("clears the lock of a dead owner, and no other file that a record names", async () => {
    const stateDir = createTemporaryFolder();
    const owner = createOwner({ stateDir, process: ENDED });
    const [stale, planted] = [join(stateDir, "owners", "stale"), join(stateDir, "owners", "planted")];
    const outside = join(stateDir, "outside");
    for (const path of [stale, outside]) {
      await owner.hold();
      renameSync(owner.record.lock, path);
      await owner.release();
    }
    writeFileSync(planted, "not a lock");
    const clear = (lock: string) => createOwner({ stateDir }).clear({ ...owner.record, lock });

    await Promise.all([stale, planted, outside].map(clear));

    expect([stale, planted, outside].map((path) => existsSync(path))).toEqual([false, true, true]);
  });

  it("writes nothing before it holds its lock", () => {
    const stateDir = join(createTemporaryFolder(), "state");

    createOwner({ stateDir });

    expect(existsSync(stateDir)).toBe(false);
  });

  it("knows itself, whether it holds its lock or not", async () => {
    const owner = createOwnerFor(createTemporaryFolder());

    expect(await owner.stateOf(owner.record)).toBe("own");
    await owner.hold();
    expect(await owner.stateOf(owner.record)).toBe("own");
  });

  it("is live while it holds its lock, and dead otherwise once its process has ended", async () => {
    const stateDir = createTemporaryFolder();
    const owner = createOwnerFor(stateDir, { process: ENDED });
    const other = createOwner({ stateDir });

    expect(await other.stateOf(owner.record)).toBe("dead");
    await owner.hold();
    expect(await other.stateOf(owner.record)).toBe("live");
    await owner.release();
    expect(await other.stateOf(owner.record)).toBe("dead");
    expect(readdirSync(join(stateDir, "owners"))).toEqual([]);
  });

  it("names its process permanently", () => {
    const { process: found } = createOwner({ stateDir: "/state" }).record;

    expect(found?.pid).toBe(process.pid);
    expect(found).toEqual(createOwner({ stateDir: "/state" }).record.process);
    expect(`pid:[${found?.pidNamespace}]`).toBe(readlinkSync("/proc/self/ns/pid"));
    expect(found?.boot).toMatch(/^[0-9a-f-]{36}$/);
    expect(Number(found?.started)).toBeGreaterThan(0);
  });

  it("lists owners that hold a lock, and none that released it or were cleared", async () => {
    const stateDir = createTemporaryFolder();
    const [one, other, dead] = [
      createOwnerFor(stateDir),
      createOwnerFor(stateDir, { isolation: "container" }),
      createOwnerFor(stateDir, { isolation: "none", process: ENDED }),
    ];
    await one.hold();
    await other.hold();
    await dead.hold();
    const written = readFileSync(`${dead.record.lock}.json`);
    await dead.release();
    writeFileSync(`${dead.record.lock}.json`, written);
    writeFileSync(join(stateDir, "owners", "nonsense.json"), "{");
    writeFileSync(join(stateDir, "owners", "copied.json"), written);
    const watcher = createOwner({ stateDir });

    expect(watcher.listRecords("none")).toHaveLength(2);
    expect(watcher.listRecords("none")).toEqual(expect.arrayContaining([one.record, dead.record]));
    expect(watcher.listRecords("container")).toHaveLength(2);
    expect(watcher.listRecords("container")).toEqual(expect.arrayContaining([one.record, other.record]));
    await Promise.all([one, dead].map(({ record }) => watcher.clear(record)));
    expect(watcher.listRecords("none")).toEqual([one.record]);
    await one.release();
    expect(watcher.listRecords("none")).toEqual([]);
  });

  it("takes its lock once, however often it is asked to", async () => {
    const owner = createOwnerFor(createTemporaryFolder());

    await Promise.all([owner.hold(), owner.hold()]);
    await owner.hold();

    expect(existsSync(owner.record.lock)).toBe(true);
  });

  it("can be released twice, before it ever held its lock, and then take it", async () => {
    const stateDir = createTemporaryFolder();
    const owner = createOwnerFor(stateDir);

    await owner.release();
    await owner.hold();
    await owner.release();
    await owner.release();
    await owner.hold();

    expect(await createOwner({ stateDir }).stateOf(owner.record)).toBe("live");
  });

  it("keeps its locks out of others' reach, even in a folder that was open to them", async () => {
    const stateDir = createTemporaryFolder();
    mkdirSync(join(stateDir, "owners"));
    chmodSync(join(stateDir, "owners"), 0o777);

    await createOwnerFor(stateDir).hold();

    expect(statSync(join(stateDir, "owners")).mode & 0o777).toBe(0o700);
  });

  it("does not judge an owner on another machine", async () => {
    const owner = createOwner({ stateDir: createTemporaryFolder() });
    const elsewhere = { instance: "x", host: "0123456789abcdef", lock: "/nowhere/lock" };

    expect(await owner.stateOf(elsewhere)).toBe("foreign");
  });

  it("counts as live if its lock answers, whatever the record says of machine and process", async () => {
    const stateDir = createTemporaryFolder();
    const { record } = await held(createOwnerFor(stateDir));
    const watcher = createOwner({ stateDir });

    expect(await watcher.stateOf({ ...record, host: "0123456789abcdef" })).toBe("live");
    expect(await watcher.stateOf({ ...record, process: ENDED })).toBe("live");
  });

  it("without a process is dead only if its lock refuses or is missing", async () => {
    const folder = createTemporaryFolder();
    const owner = createOwner({ stateDir: folder });
    writeFileSync(join(folder, "file"), "");
    const { host } = owner.record;
    const stateOf = (lock: string) => owner.stateOf({ host, instance: "x", lock });

    expect(await stateOf(join(folder, "missing"))).toBe("dead");
    expect(await stateOf(join(folder, "file"))).toBe("dead");
    expect(await stateOf(join(folder, "file", "below"))).toBe("live");
  });

  it("refuses a state directory with a path that is too long for a socket", async () => {
    const stateDir = join(createTemporaryFolder(), "x".repeat(100));
    const owner = createOwner({ stateDir });

    await expect(owner.hold()).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(/^The state directory ".*" is too long .* the option "stateDir"\.$/),
    });
  });

  it("refuses a state directory that cannot be written, and can try again", async () => {
    const stateDir = join(createTemporaryFolder(), "state");
    writeFileSync(stateDir, "a file");
    const owner = createOwnerFor(stateDir);

    await expect(owner.hold()).rejects.toMatchObject({
      code: "STATE_UNUSABLE",
      message: expect.stringMatching(
        /^Cannot keep a lock in ".*state\/owners" \(ENOTDIR\)\. .* the option "stateDir"\.$/,
      ),
    });
    rmSync(stateDir);
    await owner.hold();
    expect(existsSync(owner.record.lock)).toBe(true);
  });
});

/** An earlier process with this process's pid. */
const ENDED: OwnerProcess | undefined = toProcess({ started: "0" });

function toProcess(changes: Partial<OwnerProcess>): OwnerProcess | undefined {
  const own = readOwnProcess();
  return own === undefined ? undefined : { ...own, ...changes };
}

function createOwnerFor(stateDir: string, options: Partial<OwnerOptions> = {}): Owner {
  const owner = createOwner({ stateDir, ...options });
  onTestFinished(() => owner.release());
  return owner;
}

async function held(owner: Owner): Promise<Owner> {
  await owner.hold();
  return owner;
}
