import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Writable } from "node:stream";
import type { Host } from "@budgie/mcp-server";

type PagedHost = Pick<Host, "columns" | "env" | "events" | "stdout">;

/**
 * Writes lines to a terminal through the user's pager, `$PAGER` or `less`, as git does; without a terminal or a pager plainly. `render` is called
 * once more if the pager cannot be started. A person may leave the pager before the last line.
 */
export async function pageLines(host: PagedHost, render: () => AsyncIterable<readonly string[]>): Promise<void> {
  const { columns, env, stdout } = host;
  const pager = env["PAGER"] ?? "less";
  const isPaged = columns !== undefined && pager !== "" && pager !== "cat" && env["TERM"] !== "dumb";
  if (isPaged && (await runPager(pager, host, render))) return;
  await write(stdout, render());
}

// The exit codes by which a shell says that it could not run the command.
const NOT_RUN = [126, 127];

/** Resolves to false if there is no such pager, which then has shown nothing. */
async function runPager(
  pager: string,
  { env, events }: PagedHost,
  render: () => AsyncIterable<readonly string[]>,
): Promise<boolean> {
  // Ctrl-C belongs to the pager, which would keep the terminal without budgie.
  const ignore = (): void => undefined;
  events.on("SIGINT", ignore);
  // As git has it: short texts end by themselves, colours are colours, and all stays on the terminal.
  const variables = { LESS: "FRX", LV: "-c", ...env };
  const child = spawn(pager, { shell: true, stdio: ["pipe", "inherit", "inherit"], env: variables });
  const ended = once(child, "close").then(
    ([code]) => !NOT_RUN.includes(Number(code)),
    () => false,
  );
  // A person who has left the pager reads no further.
  child.stdin.on("error", () => undefined);
  try {
    await write(child.stdin, render());
  } finally {
    // A pager that waits for the end would keep budgie.
    child.stdin.end();
  }
  return ended.finally(() => events.off("SIGINT", ignore));
}

async function write(output: Writable, lines: AsyncIterable<readonly string[]>): Promise<void> {
  for await (const some of lines) {
    if (output.destroyed) return;
    if (output.write(`${some.join("\n")}\n`)) continue;
    const leaving = new AbortController();
    const { signal } = leaving;
    await Promise.race(["drain", "close"].map((event) => once(output, event, { signal }))).catch(() => undefined);
    leaving.abort();
  }
}
