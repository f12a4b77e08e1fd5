import { once } from "node:events";
import { createInterface } from "node:readline";
import type { KiroUser, RunOptions } from "../run-kiro-cli.ts";

type Params = Readonly<Record<string, unknown>>;

type Message = {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Params;
  readonly result?: Params;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
};

/** A raw client of the stand-in's ACP. */
export type AcpClient = {
  /** Sends a request. Resolves to its result, or its error */
  readonly request: (method: string, params: Params) => Promise<Pick<Message, "error" | "result">>;
  readonly notify: (method: string, params: Params) => void;
  /** Begins a session, and resolves to the answer */
  readonly begin: (more?: { readonly client?: Params; readonly session?: Params }) => Promise<Params>;
  /** Sends a prompt. Resolves to its answer */
  readonly prompt: (sessionId: unknown, text: string, more?: Params) => Promise<Pick<Message, "error" | "result">>;
  /** The received notifications and requests, in order */
  readonly received: readonly Message[];
  /** Resolves to the first message of a method, and keeps it in the list */
  readonly until: (method: string) => Promise<Message>;
  /** The text of all messages of the agent */
  readonly text: () => string;
  /** Closes the client's end. Resolves to the exit code, and stderr */
  readonly end: () => Promise<{ readonly exitCode: unknown; readonly stderr: string }>;
  /** Resolves when the program has ended */
  readonly ended: Promise<unknown>;
};

/** Starts `kiro-cli acp`. Requests for permission get the option that `permission` names. */
export function startAcp(
  user: KiroUser,
  argv: readonly string[] = [],
  { permission = "allow_once", ...options }: RunOptions & { readonly permission?: string } = {},
): AcpClient {
  const child = user.start(["acp", ...argv], options);
  const exited = once(child, "close");
  const answers = new Map<unknown, (message: Message) => void>();
  const received: Message[] = [];
  let told: (() => void)[] = [];
  let [asked, stderr] = [0, ""];
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin?.on("error", () => undefined);

  const send = (message: Params): void =>
    void child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  if (child.stdout === null) throw new Error("The stand-in has no stdout.");
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line) as Message;
    if (message.method === undefined) return answers.get(message.id)?.(message);
    received.push(message);
    if (message.id !== undefined) {
      send({ id: message.id, result: { outcome: { outcome: "selected", optionId: permission } } });
    }
    for (const tell of told.splice(0)) tell();
  });

  async function request(method: string, params: Params): Promise<Message> {
    const id = ++asked;
    const answered = new Promise<Message>((resolve) => answers.set(id, resolve));
    send({ id, method, params });
    return Promise.race([answered, exited.then(() => ({ error: { code: 0, message: "ended" } }))]);
  }

  return {
    request,
    notify: (method, params) => send({ method, params }),
    async begin({ client = {}, session = {} } = {}) {
      await request("initialize", { protocolVersion: 1, clientCapabilities: client });
      const { error, result } = await request("session/new", { cwd: user.work, mcpServers: [], ...session });
      if (result === undefined) throw new Error(`session/new failed: ${JSON.stringify(error)}`);
      return result;
    },
    prompt: (sessionId, text, more = {}) =>
      request("session/prompt", { sessionId, prompt: [{ type: "text", text }], ...more }),
    received,
    async until(method) {
      for (;;) {
        const found = received.find((message) => message.method === method);
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => (told = [...told, resolve]));
      }
    },
    text: () =>
      updatesOf(received)
        .flatMap(({ content, sessionUpdate }) =>
          sessionUpdate === "agent_message_chunk" ? [(content as Params)["text"]] : [],
        )
        .join(""),
    async end() {
      child.stdin?.end();
      const [exitCode] = (await exited) as [unknown];
      return { exitCode, stderr };
    },
    ended: exited,
  };
}

/** Returns the updates of sessions among messages. */
export function updatesOf(received: readonly Message[]): readonly Params[] {
  return received.flatMap(({ method, params }) => (method === "session/update" ? [params?.["update"] as Params] : []));
}
