import { execFileSync } from "node:child_process";
import { mkdirSync, readlinkSync, renameSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ClientName } from "../../../src/commands/install/clients.ts";
import { toFile, writeTheirs } from "./client-settings.ts";
import { createInstallUser } from "./create-install-user.ts";

describe("a client's file", () => {
  it.each<[string, ClientName, string | Buffer, string]>([
    ["malformed JSON", "claude", '{\n  "a": 1,,\n}', "PropertyNameExpected in line 2, column 10"],
    ["a list", "cursor", "[]", "it is not an object"],
    ["a file without a table of servers", "vscode", '{"servers": null}', 'Expected "servers" in'],
    ["malformed TOML", "codex", "a = \n", "in line 1, column 5"],
    ["servers in one line of TOML", "codex", 'mcp_servers = { a = { command = "x" } }\n', "is written in a way"],
    ["a duplicate name", "gemini", '{"mcpServers": {}, "mcpServers": {"a": {}}}', "is written in a way"],
    ["text that is not UTF-8", "kiro", Buffer.from([0x7b, 0xff, 0x7d]), "it is not text in UTF-8"],
    ["endlessly nested lists", "kiro", `{"a":${"[".repeat(100_000)}`, "it is nested too deeply"],
  ])("refuses %s, and leaves it unchanged", async (...[, client, content, message]) => {
    using user = createInstallUser();
    user.write(toFile(user, client, "user"), content);
    const before = user.files();

    await expect(user.run(["install", client])).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(message),
    });
    expect(user.files()).toEqual(before);
  });

  it.each(["mine.json", "dotfiles/mine.json"])(
    "writes through a symlink to %s, as dotfile managers create it",
    async (name) => {
      using user = createInstallUser();
      const file = writeTheirs(user, "claude");
      const real = join(user.home, name);
      mkdirSync(dirname(real), { recursive: true });
      renameSync(file, real);
      symlinkSync(name, file);
      const before = user.read(real);

      await user.run(["install", "claude"]);
      const installed = user.read(real);
      await user.run(["uninstall", "claude"]);

      expect(readlinkSync(file)).toBe(name);
      expect(installed).toContain("--sandbox");
      expect(user.read(real)).toBe(before);
      expect(Object.keys(user.files())).toEqual([`home/${name}`]);
    },
  );

  it("does not follow a project's symlinks out of it", async () => {
    using user = createInstallUser();
    writeTheirs(user, "claude");
    symlinkSync(toFile(user, "claude", "user"), toFile(user, "claude", "project"));
    symlinkSync(user.home, join(user.project, ".cursor"));
    const before = user.files();

    for (const client of ["claude", "cursor"]) {
      await expect(user.run(["install", client, "--scope", "project"])).rejects.toMatchObject({
        code: "CONFIG_INVALID",
        message: expect.stringContaining("it leads out of the project, to "),
      });
    }
    expect(user.files()).toEqual(before);
  });

  it("refuses anything but a regular file at once, and a dangling symlink", async () => {
    using user = createInstallUser();
    execFileSync("mkfifo", [toFile(user, "claude", "user")]);
    mkdirSync(join(user.home, ".cursor"));
    symlinkSync("nowhere", toFile(user, "cursor", "user"));

    await expect(user.run(["install", "claude"])).rejects.toThrow("it is not a file of settings");
    await expect(user.run(["install", "cursor"])).rejects.toThrow("it is a dangling symlink");
  });
});
