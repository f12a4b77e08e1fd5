import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createSessionId } from "@budgie/core";
import { describe, expect, it } from "vitest";
import { openContractSession, readUntil, shareContractSession } from "./contract-session.ts";
import type { RunnerSetup } from "./runner-setup.ts";

const MAX_READ_BYTES = 4 * 1024 * 1024;

/** Describes the writable state of a session. */
export function describeHome(setup: RunnerSetup): void {
  describe("the home of a session", () => {
    const contractSession = shareContractSession(setup);

    it("lasts from one process to the next", async () => {
      const contract = await contractSession();
      await contract.run('mkdir -p "$1/.agent"; echo remembered > "$1/.agent/note"');

      const { stdout } = await contract.run('cat "$1/.agent/note"');

      expect(stdout.toString()).toBe("remembered\n");
    });

    it("lasts when the session is opened again", async () => {
      const contract = await contractSession();
      await contract.run('echo remembered > "$1/note"');

      const again = await contract.runner.openSession(contract.session.id);

      expect(await again.readFile("note")).toBe("remembered\n");
    });

    it("is separate from other sessions", async () => {
      const contract = await contractSession();
      await contract.run('echo mine > "$1/note"');
      const other = await contract.runner.openSession(createSessionId());

      const { stdout } = await contract.run('ls -A "$1"', { session: other });

      expect(stdout.toString()).not.toContain("note");
      expect(await other.readFile("note")).toBeUndefined();
    });
  });

  describe("reading a file of the home", () => {
    const contractSession = shareContractSession(setup);

    it("returns the text of a regular file", async () => {
      const contract = await contractSession();
      await contract.run(String.raw`rm -rf "$1/answer.md"; printf 'ünï\n\n' > "$1/answer.md"`);

      expect(await contract.session.readFile("answer.md")).toBe("ünï\n\n");
    });

    it.each([
      ["a missing file", "true"],
      ["a symlink to a file outside", 'ln -s /etc/passwd "$1/answer.md"'],
      ["a symlink to a file in the home", 'echo x > "$1/real" && ln -s real "$1/answer.md"'],
      ["a directory", 'mkdir "$1/answer.md"'],
      ["a FIFO", 'mkfifo "$1/answer.md"'],
      ["a file in the way of its folder", 'echo x > "$1/answer.md"', "answer.md/below"],
      ["a missing folder", "true", "answer.md/below"],
      [
        "a symlink to a folder in the home",
        'mkdir -p "$1/folder" && echo x > "$1/folder/x" && ln -s folder "$1/answer.md"',
        "answer.md/x",
      ],
      ["a symlink to a folder outside", 'ln -s /etc "$1/answer.md"', "answer.md/passwd"],
    ])("gives nothing for %s", async (_, script, path = "answer.md") => {
      const contract = await contractSession();
      const { exit } = await contract.run(`rm -rf "$1/answer.md" && ${script}`);

      expect(exit.exitCode).toBe(0);
      expect(await contract.session.readFile(path)).toBeUndefined();
    });

    it("returns the text of a file in a folder of the home", async () => {
      const contract = await contractSession();
      await contract.run('mkdir -p "$1/.agent/a b"; echo deep > "$1/.agent/a b/note"');

      expect(await contract.session.readFile(".agent/a b/note")).toBe("deep\n");
    });

    it("returns the first 4 MiB of a larger file", async () => {
      const contract = await contractSession();
      await contract.run(
        `rm -rf "$1/answer.md"; head -c ${MAX_READ_BYTES + 5} /dev/zero | tr '\\0' a > "$1/answer.md"`,
      );

      const text = await contract.session.readFile("answer.md");

      expect(text === "a".repeat(MAX_READ_BYTES)).toBe(true);
    });

    it.each(["../note", "/etc/passwd", "a/../b", "a//b", "a/", "..", ""])("refuses %j as a path", async (name) => {
      const contract = await contractSession();

      await expect(contract.session.readFile(name)).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
      await expect(contract.session.appendFile(name, "x")).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
    });
  });

  describe("appending to a file of the home", () => {
    const contractSession = shareContractSession(setup);

    it("creates the file, and adds to it", async () => {
      const contract = await contractSession();
      await contract.session.appendFile("log.txt", "one\n");
      await contract.session.appendFile("log.txt", "zwei ü\n");

      const { stdout } = await contract.run('cat "$1/log.txt"');

      expect(stdout.toString()).toBe("one\nzwei ü\n");
      expect(await contract.session.readFile("log.txt")).toBe("one\nzwei ü\n");
    });

    it("creates missing folders, which belong to the agent", async () => {
      const contract = await contractSession();
      await contract.session.appendFile(".notes/today/log.txt", "one\n");
      await contract.session.appendFile(".notes/today/log.txt", "two\n");

      const { stdout } = await contract.run(
        'cd "$1/.notes" && echo three >> today/log.txt && touch more && cat today/log.txt',
      );

      expect(stdout.toString()).toBe("one\ntwo\nthree\n");
    });

    it("does not write through a folder that is a planted symlink", async () => {
      const contract = await contractSession();
      const { exit } = await contract.run(
        'mkdir "$1/inner" && ln -s "$2" "$1/outer-link" && ln -s inner "$1/inner-link"',
      );
      const paths = ["outer-link/log.txt", "inner-link/log.txt", "inner-link/new/log.txt"];

      const outcomes = await Promise.allSettled(paths.map((path) => contract.session.appendFile(path, "leak")));

      const { stdout } = await contract.run('ls -A "$1/inner" "$2" | grep -v :');
      expect(exit.exitCode).toBe(0);
      expect(outcomes).toEqual(
        paths.map(() => ({ status: "rejected", reason: expect.objectContaining({ code: "SESSION_UNUSABLE" }) })),
      );
      expect(stdout.toString().trim()).toBe("");
    });

    it("does not write through a planted symlink", async () => {
      const contract = await contractSession();
      const victim = join(contract.directory, "victim");
      await writeFile(victim, "untouched");
      const { exit } = await contract.run(
        'rm -f "$1/log.txt" && ln -s "$2/victim" "$1/log.txt" && ln -s "$2/created" "$1/other.txt"',
      );

      expect(exit.exitCode).toBe(0);
      await Promise.allSettled([
        contract.session.appendFile("log.txt", "leak"),
        contract.session.appendFile("other.txt", "leak"),
      ]);

      expect(await readFile(victim, "utf8")).toBe("untouched");
      await expect(readFile(join(contract.directory, "created"))).rejects.toMatchObject({ code: "ENOENT" });
    });
  });

  describe("removing a session", () => {
    it("stops its processes and leaves nothing", async () => {
      await using contract = await openContractSession(setup);
      const process = await contract.start("echo up; while :; do sleep 0.1; done");
      await readUntil(process.stdout, "up\n");

      await contract.session.remove();

      expect((await process.exit).reason).toBe("shutdown");
      expect(await setup.leftovers(contract.session.id)).toEqual({ running: [], stored: [] });
      expect(await contract.runner.listSessions()).not.toContainEqual(
        expect.objectContaining({ id: contract.session.id }),
      );
    });

    it("does not affect other sessions", async () => {
      await using contract = await openContractSession(setup);
      const other = await contract.runner.openSession(createSessionId());
      await other.appendFile("note", "kept");

      await contract.session.remove();

      expect(await other.readFile("note")).toBe("kept");
    });
  });
}
