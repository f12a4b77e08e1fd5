import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { toInteropPath, type Address, type Call, type Outcome, type Seen } from "../clients.ts";

const PROGRAMS = {
  Python: [toInteropPath("node_modules/.python/bin/python"), toInteropPath("python/call_tools.py")],
  Go: [toInteropPath("node_modules/.go/call-tools")],
  Rust: [toInteropPath("node_modules/.rust/debug/call-tools")],
  Java: [
    "java",
    "-cp",
    ["", "lib/*"].map((path) => toInteropPath(`node_modules/.java/${path}`)).join(":"),
    "CallTools",
  ],
} as const;

export type Language = keyof typeof PROGRAMS;
export const LANGUAGES = ["Python", "Go", "Rust", "Java"] as const satisfies readonly Language[];

/** Languages whose SDK cancels a call that it gives up, and returns to one whose connection was cut. */
export const CANCELLING = ["Python", "Go", "Rust"] as const satisfies readonly Language[];

/** A client of the official SDK of a language, in a process of its own. */
export type LanguageClient = AsyncDisposable & {
  /** Connects, also once more, and lists the tools */
  readonly connect: (address: Address, options?: ConnectOptions) => Promise<Connected>;
  readonly call: (call: Pick<Call, "name" | "arguments"> & { readonly timeoutMs?: number }) => Promise<Outcome>;
};

type ConnectOptions = {
  /** Makes the client speak only this one, in Python */
  readonly revision?: string;
  /** Timeout of all requests, in Java, whose SDK has none for each; default: the SDK's own */
  readonly timeoutMs?: number;
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
    connect: (address, options = {}) => say({ connect: address, ...options }),
    call: (call) => say({ call }),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await closed;
    },
  };
}
