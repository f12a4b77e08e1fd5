import { describe, expect, it } from "vitest";
import { readAll, readUntil, shareContractSession } from "./contract-session.ts";
import type { RunnerSetup } from "./runner-setup.ts";

const MEBIBYTE = 1024 * 1024;

const INPUTS = {
  "without a final newline": "one line",
  "of many lines": "one\n\ntwo\r\nthree\n",
  "with leading spaces, dashes and backslashes": "  --flag \\n \\\\ /quit !ls $HOME `id`\n",
  "beyond ASCII": "ünï 鳥 🐦\u0007\n",
  "of 300 KB": "0123456789abcde\n".repeat(19_200),
};

// Prints the rights of a process.
const RIGHTS = 'grep -E "^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp:)" /proc/self/status; pwd';

/** Describes stdin, stdout and stderr. */
export function describeStreams(setup: RunnerSetup): void {
  describe("the streams of a process", () => {
    const contractSession = shareContractSession(setup);

    it("keeps stdout and stderr separate and unchanged", async () => {
      const contract = await contractSession();

      const { stdout, stderr } = await contract.run(String.raw`printf 'out\377\000\n\n'; printf '\n err\303\n\n' >&2`);

      expect(stdout).toEqual(Buffer.from("out\xff\0\n\n", "latin1"));
      expect(stderr).toEqual(Buffer.from("\n err\xc3\n\n", "latin1"));
    });

    it.each(Object.entries(INPUTS))("passes an input %s unchanged", async (_, input) => {
      const contract = await contractSession();

      const { stdout } = await contract.run("cat", { input });

      expect(stdout.equals(Buffer.from(input))).toBe(true);
    });

    it("ends an empty input at once", async () => {
      const contract = await contractSession();

      const { stdout, exit } = await contract.run("cat; echo ended", { input: "" });

      expect(stdout.toString()).toBe("ended\n");
      expect(exit.exitCode).toBe(0);
    });

    it("accepts a process that never reads its input", async () => {
      const contract = await contractSession();

      const { stdout, exit } = await contract.run("echo done", { input: INPUTS["of 300 KB"] });

      expect(stdout.toString()).toBe("done\n");
      expect(exit.exitCode).toBe(0);
    });

    it("keeps stdin open if no input is given", async () => {
      const contract = await contractSession();
      const process = await contract.start('while read -r line; do echo "got $line"; done; echo bye; exit 4');

      process.stdin.write("one\n");
      await readUntil(process.stdout, "got one\n");
      process.stdin.write("two\n");
      await readUntil(process.stdout, "got two\n");
      process.stdin.end();
      await readUntil(process.stdout, "bye\n");

      expect(await process.exit).toMatchObject({ exitCode: 4, reason: undefined });
    });

    it("truncates nothing of 20 MB on both streams", async () => {
      const contract = await contractSession();

      const { stdout, stderr, exit } = await contract.run(
        `head -c ${20 * MEBIBYTE} /dev/zero | tr '\\0' e >&2 & head -c ${20 * MEBIBYTE} /dev/zero | tr '\\0' o; wait`,
      );

      expect(exit.exitCode).toBe(0);
      expect(stdout.equals(Buffer.alloc(20 * MEBIBYTE, "o"))).toBe(true);
      expect(stderr.equals(Buffer.alloc(20 * MEBIBYTE, "e"))).toBe(true);
    });

    it("keeps output from before a reader is attached", async () => {
      const contract = await contractSession();
      const process = await contract.start("echo early; echo late >&2", { input: "" });

      await process.exit;
      const { stdout, stderr } = await readAll(process);

      expect(stdout.toString()).toBe("early\n");
      expect(stderr.toString()).toBe("late\n");
    });

    it("ends the streams of a turn whose background process holds them open", async () => {
      const contract = await contractSession();

      const { stdout, exit } = await contract.run("sleep 600 & echo done");

      expect(stdout.toString()).toBe("done\n");
      expect(exit).toMatchObject({ exitCode: 0, reason: undefined });
      // The engine may report the end later.
      await expect.poll(async () => (await setup.leftovers(contract.session.id)).running).toEqual([]);
    });

    it("opens terminals with the rights of the process, which end by themselves or with it", async ({ skip }) => {
      const contract = await contractSession();
      const process = await contract.start(`${RIGHTS}; echo up; exec sleep 600`, { input: "" });
      const rights = await readUntil(process.stdout, "up\n");
      const open = process.openTerminal;
      if (open === undefined) {
        await process.stop("cancelled");
        return skip("this runner opens no terminals");
      }
      const size = { columns: 93, rows: 31 };
      // An engine may set the size just after the start.
      const script = `until [ "$(stty size)" = "31 93" ]; do sleep 0.1; done; ${RIGHTS}; echo up; read -r code; exit $code`;

      const ended = await open(["/bin/sh", "-c", script], size);
      const shown = await readUntil(ended.stream, "up\r\n");
      ended.stream.resume().write("9\n");
      const lasting = await open(["sleep", "600"], size);
      lasting.stream.resume();
      const exitCode = await ended.exitCode;
      await process.stop("cancelled");

      expect(exitCode).toBe(9);
      const [inTerminal, inProcess] = [shown.replaceAll("\r", ""), rights].map(splitGroups);
      expect(inTerminal?.others).toBe(inProcess?.others);
      // Podman leaves out the group that is the process's own anyway.
      expect(inProcess?.groups).toEqual(expect.arrayContaining([...(inTerminal?.groups ?? [])]));
      expect(await lasting.exitCode).not.toBe(0);
      expect(lasting.stream.closed).toBe(true);
    });

    it("runs a process on a terminal, which closes with it, if it opens none beside one", async ({ skip }) => {
      const contract = await contractSession();
      const terminal = { columns: 93, rows: 31 };
      const process = await contract.start("stty size; echo up; read -r code; exit $code", {
        input: undefined,
        terminal,
      });
      const { terminal: opened } = process;
      if (opened === undefined) {
        await process.stop("cancelled");
        return skip("this runner runs no process on a terminal");
      }

      const shown = await readUntil(opened.stream, "up\r\n");
      opened.stream.resume().write("9\r");

      expect(shown).toBe("31 93\r\nup\r\n");
      expect(await opened.exitCode).toBe(9);
      expect(opened.stream.closed).toBe(true);
      expect(await process.exit).toMatchObject({ exitCode: 9, reason: undefined });
    });
  });
}

/** Splits the rights of a process into its groups and all others. */
function splitGroups(rights: string): { readonly groups: readonly string[]; readonly others: string } {
  const [line = "", groups = ""] = /^Groups:(.*)\n/m.exec(rights) ?? [];
  return { groups: groups.match(/\d+/g) ?? [], others: rights.replace(line, "") };
}
