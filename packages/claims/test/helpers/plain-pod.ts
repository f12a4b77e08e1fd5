import { Readable } from "node:stream";
import type { AgentProcess, Command } from "@budgie/core";
import { DEFAULT_ACCESS } from "@budgie/core/policy";
import type { Cluster } from "@budgie/testkit";
import type { Lab } from "../../src/lab/lab.ts";
import { startVictim } from "../../src/lab/victim.ts";
import { toPlainPod, type PlainShape } from "./to-plain-pod.ts";

/** A Pod without budgie. */
export type PlainPod = {
  /** Returns the parts of a lab whose attacks run in this Pod */
  readonly toCareless: (lab: Lab) => Pick<Lab, "open" | "run">;
  /** Starts a victim beside the attacks */
  readonly startVictim: (lab: Lab) => ReturnType<Lab["victim"]>;
  /** Starts a program that runs on, and resolves to what it says first */
  readonly leave: (argv: readonly string[]) => Promise<string>;
  /** Runs a program to its end, and resolves to what it says; rejects if it fails */
  readonly execute: (argv: readonly string[]) => Promise<string>;
};

const NAMESPACE = "plain";
/** Shows an attack's directory as its workspace, what else an agent is shown in its home, and a file that a mount covers. */
const SHOW = `set -e; home=$1 directory=$2; shift 2
  mountpoint -q /etc/passwd || mount --bind /etc/passwd /etc/passwd
  while umount /workspace 2>/dev/null; do :; done
  mount --bind "$directory" /workspace; cd /workspace
  ln -sfn "$home/.ssh" /.ssh; mkdir -p /home/agent
  cp -an "$home/.kiro" /home/agent || true
  exec env "$@"`;
const LEAVE = `mkdir -p /home/agent; rm -f /tmp/said; env "$@" >/tmp/said 2>&1 & until [ -s /tmp/said ]; do sleep 0.1; done; cat /tmp/said`;

/** Starts a Pod in a namespace that restricts nothing. */
export async function startPlainPod({ kubectl }: Pick<Cluster, "kubectl">, shape: PlainShape): Promise<PlainPod> {
  const ask = async (argv: readonly string[], input?: string) =>
    (await kubectl(["-n", NAMESPACE, ...argv], input)).stdout;
  // Another one may have made it.
  await kubectl(["create", "namespace", NAMESPACE]).catch(() => undefined);
  await ask(["wait", "--for=create", "sa/default", "--timeout=100s"]);
  await ask(["create", "-f", "-"], JSON.stringify(toPlainPod(shape)));
  await ask(["wait", "--for=condition=Ready", `pod/${shape.name}`, "--timeout=100s"]);
  const execute: PlainPod["execute"] = (argv) => ask(["exec", shape.name, "--", ...argv]);
  const script = (text: string, ...argv: readonly string[]) => execute(["sh", "-c", text, "sh", ...argv]);
  const leave: PlainPod["leave"] = (argv) => script(LEAVE, ...argv);
  return {
    execute,
    leave,
    toCareless(lab) {
      const show = ({ argv, env }: Pick<Command, "argv" | "env">, directory: string) =>
        script(SHOW, lab.host.path, directory, ...listVariables(env), ...argv);
      return {
        async open() {
          await script("rm -rf /home/agent");
          return {
            ...lab.session,
            start: async (command, { directory }) => toProcess(await show(command, directory)),
            readFile: (name) => script('cat "$HOME/$1"', name),
            appendFile: async (name, text) => void (await script('printf %s "$2" >>"$HOME/$1"', name, text)),
          };
        },
        async run(argv, { directory = lab.workspace, env = {} } = {}) {
          return { stdout: await show({ argv, env }, directory), stderr: "", exit: await ENDED };
        },
      };
    },
    startVictim: ({ session, workspace }) =>
      startVictim(
        {
          ...session,
          start: async ({ argv, env }) => ({
            ...toProcess(await leave([...listVariables(env), ...argv])),
            exit: new Promise(() => undefined),
          }),
        },
        workspace,
        DEFAULT_ACCESS,
      ),
  };
}

/** The end of a program that has not failed. */
export const ENDED = Promise.resolve({ exitCode: 0, signal: undefined, reason: undefined, oomKilled: false });

/** Returns variables as words of `env`. */
export function listVariables(env: Command["env"]): readonly string[] {
  return Object.entries(env).map(([name, value]) => `${name}=${value}`);
}

function toProcess(stdout: string): AgentProcess {
  return {
    stdin: new Readable() as never,
    stdout: Readable.from([stdout]),
    stderr: Readable.from([]),
    exit: ENDED,
    stop: () => Promise.resolve(),
  };
}
