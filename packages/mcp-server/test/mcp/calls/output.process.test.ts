import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createBudgieUser, toText, waitFor } from "../../../../cli/test/helpers/start-budgie.ts";
import { startHttpBudgie } from "../http/start-http-budgie.ts";

const MIB = 1024 * 1024;
// The allowed growth of a budgie that has already read output.
const MEMORY_LIMIT = 64 * MIB;

describe("an agent that prints 1 GB", () => {
  it(
    "costs budgie less than 64 MiB more than one that prints 16 MiB, and is answered",
    { timeout: 300_000 },
    async () => {
      await using user = await createBudgieUser();
      const budgie = await user.start();
      // A first turn that prints makes Node take the memory that it needs to read at all.
      await budgie.ask("code-reviewer", { prompt: "[[fault flood 16]][[say: Done.]]" });
      const before = measurePeak(budgie.child);

      const flooded = await budgie.ask("code-reviewer", { prompt: "[[fault flood 1024]][[say: Done.]]" });

      const after = measurePeak(budgie.child);
      expect(toText(flooded)).toBe("Done.");
      expect(after - before).toBeLessThan(MEMORY_LIMIT);
      const { warnings } = flooded.structuredContent as { warnings: readonly string[] };
      const file = /The agent printed 1,073,7\d\d,\d{3} bytes; all that was kept of it is in "(.+)"\./.exec(
        warnings.join(),
      )?.[1];
      expect(statSync(file ?? "")).toMatchObject({ size: 256 * MIB });
      expect(
        readFileSync(file ?? "")
          .subarray(-32)
          .toString(),
      ).toBe("0123456789abcdef".repeat(2));
    },
  );

  it("would fail this measurement if its output were held", async () => {
    const holding = `process.stdin.once("data", () => { globalThis.held = Buffer.alloc(${2 * MEMORY_LIMIT}, 1); console.log("held"); })`;
    const child = spawn(process.execPath, ["-e", `console.log("begun"); ${holding}`]);
    await once(child.stdout, "data");
    const before = measurePeak(child);

    child.stdin.write("hold");
    await once(child.stdout, "data");

    const after = measurePeak(child);
    child.kill();
    expect(after - before).toBeGreaterThan(MEMORY_LIMIT);
  });
});

describe("an answer is found despite", () => {
  it.each([
    ["bytes that are not UTF-8", "[[fault invalid-utf8]]"],
    ["a line of 8 MiB", "[[fault flood 8]]"],
    ["half a line at its end", "[[fault partial-line]]"],
  ])("%s around it", async (_what, fault) => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();

    const answer = await ask("code-reviewer", { prompt: `${fault}[[say: The end.]]` });

    expect(answer.isError).toBeFalsy();
    expect(toText(answer)).toContain("The end.");
  });
});

describe("2 MiB of one character in an agent's output", () => {
  it.each([
    ["carriage returns", "\r"],
    ["line feeds", "\n"],
    ["letters, in one line", "a"],
    ["parts of a terminal code", ";#"],
    ["beginnings of an error message of Kiro's", 'agent "'],
  ])("block neither other clients nor the shutdown: %s", { timeout: 60_000 }, async (_what, piece) => {
    await using user = await createBudgieUser();
    const [program, printed] = [join(user.host.home, "printer"), join(user.host.home, "printed")];
    writeFileSync(program, toPrinter({ piece, printed }), { mode: 0o755 });
    const args = ["--kiro-binary", program, "--retry", "never"];
    await using budgie = await startHttpBudgie(user, { args });
    const [one, other] = [await budgie.connect(), await budgie.connect()];

    const asking = one.ask("code-reviewer", { prompt: "Hello" });
    // A quadratic expression would take half an hour, and budgie would handle no signal.
    const giveUp = setTimeout(() => budgie.child.kill("SIGKILL"), 30_000);
    await waitFor(() => existsSync(printed));
    const { tools } = await other.client.listTools();
    const answer = await asking;
    const exitCode = await budgie.end("SIGTERM");
    clearTimeout(giveUp);

    expect(tools.map(({ name }) => name)).toContain("kiro-subagents.code-reviewer");
    expect(toText(answer)).toContain("AGENT_CRASHED");
    expect(exitCode).toBe(0);
  });
});

/** Writes a program that prints a piece over and over to both streams, and fails. */
function toPrinter({ piece, printed }: { readonly piece: string; readonly printed: string }): string {
  const text = `"\\u001B" + ${JSON.stringify(piece)}.repeat(${(2 * MIB) / piece.length})`;
  return [
    `#!${process.execPath}`,
    `for (const stream of [process.stdout, process.stderr]) stream.write(${text});`,
    `process.on("exit", () => require("node:fs").writeFileSync(${JSON.stringify(printed)}, ""));`,
    "process.exitCode = 1;",
  ].join("\n");
}

/** Returns the peak resident memory of a process since the last call. */
function measurePeak({ pid }: Pick<ChildProcess, "pid">): number {
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(join("/proc", String(pid), "status"), "utf8"))?.[1];
  // Resets the peak.
  writeFileSync(join("/proc", String(pid), "clear_refs"), "5");
  return Number(peak) * 1024;
}
