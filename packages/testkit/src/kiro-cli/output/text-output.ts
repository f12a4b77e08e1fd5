import type { Settings } from "../profile/settings.ts";
import { write, type Output } from "./output.ts";
import { toShortName, type ToolCall } from "../agent/tool-call.ts";
import { toTitle } from "./to-title.ts";

const PURPLE_MARKER = "\u001B[38;5;141m> \u001B[0m";
const GREEN_MARKER = "\u001B[38;5;10m> \u001B[0m";

/** Creates the output of `chat`: the answer, and on V2 tool chatter, on stdout; everything else on stderr. */
export function createTextOutput({ harness, profile }: Settings): Output {
  const isV3 = harness === "v3";
  const old = profile === "q1";
  const marker = old ? GREEN_MARKER : PURPLE_MARKER;
  const started = performance.now();
  let inMessage = false;

  async function toolLines(lines: string): Promise<void> {
    if (isV3) return write(process.stderr, lines);
    await write(process.stdout, `${inMessage ? "\n" : ""}${lines}\n`);
    inMessage = false;
  }

  return {
    async text(text) {
      await write(process.stdout, inMessage || isV3 ? text : marker + text);
      inMessage = true;
    },
    toolStarted: (call) =>
      toolLines(`${toTitle(call)} (using tool: ${toShortName(call.name)})\nPurpose: as the prompt asks\n`),
    toolFinished: () => toolLines(" ✓ Done\n - Completed in 0.1s\n"),
    toolFailed: (_call, reason) => toolLines(` ✗ ${reason}\n`),
    toolDenied: (call) => toolLines(toDenial(call)),
    async finish() {
      if (inMessage) await write(process.stdout, "\n");
      if (!old && !isV3) await write(process.stderr, toTrailer(performance.now() - started));
    },
  };
}

function toDenial({ name }: ToolCall): string {
  return (
    `Command ${toShortName(name)} is rejected because it matches one or more rules on the denied list:\n` +
    "  - non-interactive mode (no user to approve)\n"
  );
}

function toTrailer(durationMs: number): string {
  return `\n ▸ Credits: 0.01 • Time: ${Math.max(1, Math.round(durationMs / 1000))}s\n`;
}
