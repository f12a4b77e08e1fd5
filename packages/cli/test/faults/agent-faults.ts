import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { isAlive } from "@budgie/testkit";
import { waitFor } from "../helpers/start-budgie.ts";
import { endInTime } from "./helpers/end-in-time.ts";
import type { Fault } from "./fault.ts";
import { PATIENCE_MS } from "./helpers/fault-place.ts";

const PRINT_ONE_CHARACTER = ["\r", "\n", "a"].map((one) => `[[fault one-character ${one.charCodeAt(0)}]]`);

/** Faults that agents cause to themselves and to their workspace. */
export const AGENT_FAULTS: readonly Fault[] = [
  {
    name: "the agent crashes twice",
    on: "engine",
    async inject({ call }) {
      const { told } = call({ first: "[[fault segv]]" });
      expect(await told).toMatchObject({ end: "refused", code: "AGENT_CRASHED" });
    },
  },
  {
    name: "the agent hangs and ignores SIGTERM",
    on: "engine",
    args: ["--retry", "never"],
    async inject({ call }) {
      const { told } = call({ first: "[[fault hang]]", input: { timeout: "2s" } });
      expect(await told).toMatchObject({ end: "refused", code: "TIMED_OUT" });
    },
  },
  {
    name: "the agent uses up its memory",
    on: "engine",
    async inject({ call }) {
      const { told } = call({ first: "[[fault oom 8192]]" });
      expect(await told).toMatchObject({ end: "refused", code: "OUT_OF_MEMORY" });
    },
  },
  {
    name: "the agent fills its home",
    on: "engine",
    args: ["--config", fileURLToPath(new URL("../fixtures/small-home.json", import.meta.url))],
    async inject({ call }) {
      const { told } = call({
        agent: "shell-worker",
        first: "[[run: head -c 200000000 /dev/urandom >$HOME/large; sleep 300]]",
      });
      expect(await told).toMatchObject({ end: "refused", code: "DISK_LIMIT", facts: { code: "DISK_LIMIT" } });
    },
  },
  {
    name: "budgie gets SIGTERM while the agent fills its home",
    on: "engine",
    async inject({ budgie, callAtWork }) {
      const files = "for i in $(seq 200); do head -c 10000000 /dev/urandom >$HOME/$i; sleep 0.1; done";
      const { told } = await callAtWork({ agent: "shell-worker", first: `[[run: ${files}]]` });
      await endInTime(budgie());
      expect((await told).end).not.toBe("answered");
    },
  },
  {
    name: "the agent fills its workspace's disk",
    on: "engine",
    needs: "root",
    async inject({ atEnd, call, user }) {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=256m", "tmpfs", user.workspace]);
      atEnd(() => execFileSync("umount", ["-l", user.workspace]));
      const { told } = call({ agent: "shell-worker", first: "[[run: head -c 240000000 /dev/zero >large; sleep 300]]" });
      expect(await told).toMatchObject({ end: "refused", code: "DISK_LIMIT" });
      rmSync(join(user.workspace, "large"));
    },
  },
  {
    name: "the agent starts processes up to its limit",
    on: "engine",
    async inject({ call }) {
      const { told } = call({ first: "[[run: for i in $(seq 3000); do sleep 60 & done; echo forked]]" });
      expect((await told).end).not.toBe("cut off");
    },
  },
  {
    name: "the agent leaves a process that holds its output",
    on: "engine",
    async inject({ call }) {
      const { told, word } = call({ first: "[[fault clinging-orphan]]" });
      expect((await told).text).toContain(word);
    },
  },
  {
    name: "locally, the agent leaves a process in a session of its own",
    on: "no sandbox",
    async inject({ call }) {
      const { told, word } = call({ first: "[[fault orphan]]" });
      expect((await told).text).toContain(word);
    },
  },
  {
    name: "the agent prints 1 GB in one line",
    on: "engine",
    async inject({ call }) {
      const { told, word } = call({ first: "[[fault flood 1024]]" });
      expect((await told).text).toContain(word);
    },
  },
  {
    name: "locally, the agent prints 2 MiB of carriage returns, line feeds, letters in one line",
    on: "no sandbox",
    async inject({ call }) {
      for (const first of PRINT_ONE_CHARACTER) {
        const { told, word } = call({ first });
        const { facts, text } = await told;
        expect(text).toContain(word);
        expect(JSON.stringify(facts)).toContain("The agent printed 2,097,");
      }
    },
  },
  {
    name: "locally, budgie gets SIGTERM while it reads 2 MiB of these",
    on: "no sandbox",
    async inject({ startAnother, user }) {
      for (const first of PRINT_ONE_CHARACTER) {
        const reading = await startAnother();
        const before = user.kiroCalls().length;
        const told = reading.ask("code-reviewer", { prompt: `${first}[[say: printed]]` }).catch(() => undefined);
        const agent = await waitFor(() => user.kiroCalls()[before], PATIENCE_MS);
        await waitFor(() => !isAlive(agent.pid), PATIENCE_MS);
        await endInTime(reading);
        await told;
      }
    },
  },
  {
    name: "the agent prints invalid UTF-8 and ends in the middle of a line",
    on: "engine",
    async inject({ call }) {
      const { told, word } = call({ first: "[[fault invalid-utf8]][[fault partial-line]]" });
      expect((await told).text).toContain(word);
    },
  },
  {
    name: "a folder of the workspace has 300,000 files when budgie gets SIGTERM",
    on: "engine",
    async inject({ budgie, callAtWork, user }) {
      const { told } = await callAtWork();
      fill(join(user.workspace, ".vscode"));
      await endInTime(budgie());
      expect((await told).end).not.toBe("answered");
    },
  },
  {
    name: "the workspace is deleted during a turn",
    on: "engine",
    async inject({ callAtWork, user }) {
      const { told } = await callAtWork({ first: "[[sleep 1000]]" });
      rmSync(user.workspace, { recursive: true });
      const { end } = await told;
      mkdirSync(user.workspace);
      expect(end).not.toBe("cut off");
    },
  },
];

/** Creates hard links to a few files, which is faster than creating files. */
function fill(folder: string): void {
  mkdirSync(folder);
  for (let index = 0; index < 300_000; index++) {
    const file = join(folder, `${index}`);
    if (index % 10_000 === 0) writeFileSync(file, "x");
    else linkSync(join(folder, `${index - (index % 10_000)}`), file);
  }
}
