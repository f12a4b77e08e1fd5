import type Docker from "dockerode";
import { BudgieError, type Command } from "@budgie/core";
import type { Terminal, TerminalSize } from "@budgie/core/protocol";
import { withTimeout, timeLimit, API_LIMIT_MS } from "../engine/with-timeout.ts";
import { awaitExitCode } from "../session/await-exit-code.ts";

/**
 * Runs a program on a terminal in a running container, with the container's user, directory, variables and rights. Rejects with
 * `RUNNER_UNAVAILABLE` if the engine does not start it.
 */
export async function openTerminal(
  container: Docker.Container,
  argv: Command["argv"],
  size: TerminalSize,
): Promise<Terminal> {
  try {
    const made = await container.exec({ ...ALL_STREAMS, Cmd: [...argv], ...timeLimit() });
    // The request stays open as long as the terminal, so that it cannot have a limit itself.
    const stream = await withTimeout(made.start({ hijack: true, stdin: true, Tty: true }), API_LIMIT_MS);
    const resize = ({ columns, rows }: TerminalSize): Promise<void> =>
      made.resize({ w: columns, h: rows, ...timeLimit() }).then(
        () => undefined,
        () => undefined,
      );
    await resize(size);
    const closed = new Promise<void>((resolve) => stream.once("close", resolve));
    return { stream, resize, exitCode: closed.then(async () => awaitExitCode(made, REPORT_LIMIT_MS)) };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new BudgieError("RUNNER_UNAVAILABLE", `The engine opened no terminal in the sandbox: ${reason}.`, { cause });
  }
}

const ALL_STREAMS = { AttachStdin: true, AttachStdout: true, AttachStderr: true, Tty: true } as const;

// An engine may report the end of a program some time after that of its terminal.
const REPORT_LIMIT_MS = 2000;
