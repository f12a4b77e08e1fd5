import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadClientFile } from "../../../src/commands/install/load-client-file.ts";
import { removeClientFile, replaceClientFile } from "../../../src/commands/install/replace-client-file.ts";
import { createInstallUser } from "./create-install-user.ts";

const replacing = { text: "new", mode: 0o600, keepsBackup: true };

describe("replaceClientFile", () => {
  it("does not overwrite what another program wrote meanwhile, and leaves no other file", () => {
    using user = createInstallUser();
    const path = join(user.home, "settings.json");
    user.write(path, "old");
    const file = loadClientFile(path, undefined);
    writeFileSync(path, "theirs");
    const before = user.files();

    expect(() => replaceClientFile(file, replacing)).toThrow("something else wrote it meanwhile; try again");
    expect(() => removeClientFile(file)).toThrow("something else wrote it meanwhile; try again");
    expect(user.files()).toEqual(before);
  });

  it("does not overwrite a file that appeared meanwhile", () => {
    using user = createInstallUser();
    const path = join(user.home, "settings.json");
    const file = loadClientFile(path, undefined);
    writeFileSync(path, "theirs");

    expect(() => replaceClientFile(file, replacing)).toThrow("something else wrote it meanwhile; try again");
    expect(user.read(path)).toBe("theirs");
  });

  it("keeps the mode of the file, also for its backup", () => {
    using user = createInstallUser();
    const path = join(user.home, "settings.json");
    user.write(path, "old");
    chmodSync(path, 0o606);

    const backup = replaceClientFile(loadClientFile(path, undefined), replacing) ?? "";

    expect([path, backup].map((each) => [user.read(each), statSync(each).mode & 0o7777])).toEqual([
      ["new", 0o606],
      ["old", 0o606],
    ]);
  });

  it.runIf(process.getuid?.() === 0)("keeps the owner of the file, also for its backup", () => {
    using user = createInstallUser();
    const path = join(user.home, "settings.json");
    user.write(path, "old");
    chownSync(path, 1234, 2345);

    const backup = replaceClientFile(loadClientFile(path, undefined), replacing) ?? "";

    for (const each of [path, backup]) expect(statSync(each)).toMatchObject({ uid: 1234, gid: 2345 });
  });

  // Only root may mount.
  it.runIf(process.getuid?.() === 0)("leaves nothing on a disk that is too full for the backup", () => {
    using user = createInstallUser();
    const folder = join(user.home, "small");
    mkdirSync(folder);
    spawnSync("mount", ["-t", "tmpfs", "-o", "size=32k", "tmpfs", folder]);
    try {
      const path = join(folder, "settings.json");
      user.write(path, "x".repeat(20_000));
      const file = loadClientFile(path, undefined);

      expect(() => replaceClientFile(file, replacing)).toThrow("the system says ENOSPC. Nothing was changed.");
      expect(readdirSync(folder)).toEqual(["settings.json"]);
    } finally {
      spawnSync("umount", ["--lazy", folder]);
    }
  });
});
