import { setTimeout as sleep } from "node:timers/promises";
import { judgeBell, type JudgeBellOptions } from "./judge-bell.ts";

/** The user's command that is told of turns. */
export type Bell = {
  /** Starts the command with a line of JSON on its stdin. Never waits for it, and never throws. */
  readonly ring: (facts: string) => void;
  /** Waits a moment for the commands that run. They go on after that. */
  readonly close: () => Promise<void>;
};

/** A start of the command. */
export type BellProcess = {
  /** An absolute path */
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The text for its stdin */
  readonly input: string;
};

export type BellOptions = JudgeBellOptions & {
  /** The program and its arguments */
  readonly command: readonly string[];
  /** Tells the user one line */
  readonly report: (line: string) => void;
  /** Default 2 s */
  readonly graceMs?: number;
  /** Starts the command. Resolves at its end to the reason why it failed, or to `undefined`; never rejects */
  readonly start: (bell: BellProcess) => Promise<string | undefined>;
};

const MOST_AT_ONCE = 4;
const GRACE_MS = 2000;

const VARIABLES = [
  "PATH",
  "HOME",
  "LANG",
  "DISPLAY",
  "WAYLAND_DISPLAY",
  "XDG_RUNTIME_DIR",
  "DBUS_SESSION_BUS_ADDRESS",
] as const;

/** Creates the bell of a command. Each kind of trouble with it is reported once. */
export function createBell({ command, graceMs = GRACE_MS, host, report, start, trust }: BellOptions): Bell {
  const running = new Set<Promise<void>>();
  const told = new Set<string>();

  function tellOnce(kind: string, trouble: string): void {
    if (told.has(kind)) return;
    told.add(kind);
    report(`The command of "notify" ${trouble}. No turn fails because of it, and this is said once.`);
  }

  /** Looks at each start where the command leads, since an agent may have changed that. */
  function findProgram(): string | undefined {
    const judged = judgeBell(command, { host, trust });
    if (judged.program === undefined) tellOnce(judged.kind, judged.trouble);
    return judged.program;
  }

  function tryFind(): string | undefined {
    try {
      return findProgram();
    } catch (error) {
      tellOnce("unknown", `does not run: ${(error as Error).message}`);
      return undefined;
    }
  }

  async function run(program: string, input: string): Promise<void> {
    const { env, home: cwd } = host;
    const passed = VARIABLES.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
    const args = command.slice(1);
    const fault = await start({ program, args, cwd, env: { ...Object.fromEntries(passed), HOME: cwd }, input });
    if (fault !== undefined) tellOnce("failed", `failed: ${fault}`);
  }

  return {
    ring(facts) {
      if (running.size >= MOST_AT_ONCE) {
        tellOnce("busy", `still runs ${MOST_AT_ONCE} times, so that it is not told of every turn`);
        return;
      }
      const program = tryFind();
      if (program === undefined) return;
      const rung = run(program, `${facts}\n`).finally(() => running.delete(rung));
      running.add(rung);
    },
    async close() {
      if (running.size === 0) return;
      const given = new AbortController();
      const grace = sleep(graceMs, undefined, { signal: given.signal }).catch(() => undefined);
      await Promise.race([Promise.all(running), grace]);
      given.abort();
    },
  };
}
