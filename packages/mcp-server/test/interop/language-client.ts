import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { toInteropPath, type Address, type Call, type Outcome, type Seen } from "./clients.ts";

const PROGRAMS = {
  Python: [toInteropPath("node_modules/.python/bin/python"), toInteropPath("python/call_tools.py")],
  Go: [toInteropPath("node_modules/.go/call-tools")],
} as const;

export type Language = keyof typeof PROGRAMS;
export const LANGUAGES = ["Python", "Go"] as const satisfies readonly Language[];

/** A client of the official SDK of a language, in a process of its own. */
export type LanguageClient = AsyncDisposable & {
  /** Connects, also once more, and lists the tools; `revision` makes it speak only that one, if its SDK can */
  readonly connect: (address: Address, revision?: string) => Promise<Connected>;
  readonly call: (call: Pick<Call, "name" | "arguments"> & { readonly timeoutMs?: number }) => Promise<Outcome>;
};

type Connected = Partial<Omit<Seen, "outcomes">> & Pick<Outcome, "error">;

/** Starts the client of a language. */
export function startLanguageClient(language: Language): LanguageClient {
  const [command, ...args] = PROGRAMS[language];
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const closed = once(child, "close");
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();

  async function say<Answer>(step: object): Promise<Answer> {
    child.stdin.write(`${JSON.stringify(step)}\n`);
    const { done, value } = await lines.next();
    if (done === true) throw new Error(`The client in ${language} ended.`);
    return JSON.parse(value) as Answer;
  }

  return {
    connect: (address, revision) => say({ connect: address, revision }),
    call: (call) => say({ call }),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await closed;
    },
  };
}
