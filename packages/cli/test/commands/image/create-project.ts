import { mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { runCli } from "../../../src/run-cli.ts";
import { createBudgieUser } from "../../helpers/start-budgie.ts";
import { toSilentHost } from "../../helpers/to-silent-host.ts";

/** Creates a user with a project, and the commands that a person types at a terminal. */
export async function createProject() {
  const user = await createBudgieUser();
  const { home } = user.host;
  const directory = realpathSync(user.workspace);

  return {
    user,
    home,
    directory,
    /** Runs a command at a terminal, and answers its question. */
    async type(words: readonly string[], answer = "y", own: NodeJS.ProcessEnv = {}) {
      const [stdin, stdout] = [new PassThrough(), new PassThrough()];
      stdin.end(`${answer}\n`);
      const reports: string[] = [];
      const report = (line: string): void => void reports.push(line);
      const terminal = { stdinIsTerminal: true, columns: 80 };
      const env = { ...process.env, HOME: home, ...own };
      const host = toSilentHost({ home, cwd: directory, env, stdin, stdout, report, ...terminal });
      const exitCode = await runCli(words, host).catch((error: unknown) => String(error));
      return { exitCode, text: [String((stdout.read() as Buffer | null) ?? ""), ...reports].join("\n") };
    },
    write: (path: string, text: string): void => {
      mkdirSync(dirname(join(directory, path)), { recursive: true });
      writeFileSync(join(directory, path), text);
    },
    remove: (path: string): void => rmSync(join(directory, path), { recursive: true }),
    [Symbol.asyncDispose]: () => user[Symbol.asyncDispose](),
  };
}
