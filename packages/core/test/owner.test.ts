import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createOwner, type Owner, type OwnerRecord } from "@budgie/core";
import { compileCore } from "./helpers/compile-core.ts";
import { createTemporaryFolder } from "./helpers/temporary-folder.ts";

describe("createOwner", () => {
  it("clears the lock of a dead owner, and no other file that a record names", async () => {
    const stateDir = createTemporaryFolder();
    const owner = createOwner({ stateDir });
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

  it("writes nothing before it holds", () => {
    const stateDir = join(createTemporaryFolder(), "state");

    createOwner({ stateDir });

    expect(existsSync(stateDir)).toBe(false);
  });

  it("knows itself, held or not", async () => {
    const owner = createOwnerFor(createTemporaryFolder());

    expect(await owner.stateOf(owner.record)).toBe("own");
    await owner.hold();
    expect(await owner.stateOf(owner.record)).toBe("own");
  });

  it("is seen as live while it holds, and as dead before and after", async () => {
    const stateDir = createTemporaryFolder();
    const owner = createOwnerFor(stateDir);
    const other = createOwner({ stateDir });

    expect(await other.stateOf(owner.record)).toBe("dead");
    await owner.hold();
    expect(await other.stateOf(owner.record)).toBe("live");
    await owner.release();
    expect(await other.stateOf(owner.record)).toBe("dead");
    expect(existsSync(owner.record.lock)).toBe(false);
  });

  it("holds once, however often it is asked to", async () => {
    const owner = createOwnerFor(createTemporaryFolder());

    await Promise.all([owner.hold(), owner.hold()]);
    await owner.hold();

    expect(existsSync(owner.record.lock)).toBe(true);
  });

  it("can be released twice, without ever having held, and hold again", async () => {
    const stateDir = createTemporaryFolder();
    const owner = createOwnerFor(stateDir);

    await owner.release();
    await owner.hold();
    await owner.release();
    await owner.release();
    await owner.hold();

    expect(await createOwner({ stateDir }).stateOf(owner.record)).toBe("live");
  });

  it("keeps its locks where nobody else can reach them, even in a folder that was open", async () => {
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

  it("takes only a refusal or a missing file for death, and any other trouble for life", async () => {
    const folder = createTemporaryFolder();
    const owner = createOwner({ stateDir: folder });
    writeFileSync(join(folder, "file"), "");
    const stateOf = (lock: string) => owner.stateOf({ ...owner.record, instance: "x", lock });

    expect(await stateOf(join(folder, "missing"))).toBe("dead");
    expect(await stateOf(join(folder, "file"))).toBe("dead");
    expect(await stateOf(join(folder, "file", "below"))).toBe("live");
  });

  it("refuses a state directory that is too long for a socket", async () => {
    const stateDir = join(createTemporaryFolder(), "x".repeat(100));
    const owner = createOwner({ stateDir });

    await expect(owner.hold()).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(/^The state directory ".*" is too long .* --state-dir\.$/),
    });
  });

  it("refuses a state directory that cannot be written, and can be asked again", async () => {
    const stateDir = join(createTemporaryFolder(), "state");
    writeFileSync(stateDir, "a file");
    const owner = createOwnerFor(stateDir);

    await expect(owner.hold()).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(/^Cannot keep a lock in ".*state\/owners" \(ENOTDIR\)\. .* --state-dir\.$/),
    });
    rmSync(stateDir);
    await owner.hold();
    expect(existsSync(owner.record.lock)).toBe(true);
  });
});

describe("an owner in another process", () => {
  it("is live while stopped, and dead once killed", async () => {
    const stateDir = createTemporaryFolder();
    const { child, record } = await startOwner(stateDir);
    const watcher = createOwner({ stateDir });

    expect(await watcher.stateOf(record)).toBe("live");
    child.kill("SIGSTOP");
    expect(await watcher.stateOf(record)).toBe("live");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await watcher.stateOf(record)).toBe("dead");
    expect(existsSync(record.lock)).toBe(true);
  });

  it("is not kept alive by its lock", async () => {
    const { child } = await startOwner(createTemporaryFolder(), { thenEnd: true });

    expect(child.exitCode ?? (await once(child, "exit"))[0]).toBe(0);
  });
});

function createOwnerFor(stateDir: string): Owner {
  const owner = createOwner({ stateDir });
  onTestFinished(() => owner.release());
  return owner;
}

async function startOwner(
  stateDir: string,
  { thenEnd = false } = {},
): Promise<{ child: ChildProcess; record: OwnerRecord }> {
  const program = `
    import { createOwner } from ${JSON.stringify(join(compileCore(), "owner.js"))};
    const owner = createOwner({ stateDir: ${JSON.stringify(stateDir)} });
    await owner.hold();
    process.stdout.write(JSON.stringify(owner.record) + "\\n");
    ${thenEnd ? "" : "setInterval(() => {}, 1000);"}
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { child, record: JSON.parse(line.toString()) as OwnerRecord };
}
