import { createInterface } from "node:readline";
import { write } from "../output/output.ts";

/** An error that a request is answered with. */
export type RpcError = Error & { readonly code: number; readonly data: unknown };

/** Creates an error that a request is answered with. */
export function toRpcError(code: number, message: string, data?: unknown): RpcError {
  return Object.assign(new Error(message), { code, data });
}

/** The messages that the client sends. */
export type Handlers = {
  /** Answers a request. A thrown {@link RpcError} becomes the error response; any other error ends the program. */
  readonly request: (method: string, params: Params) => Promise<unknown>;
  readonly notification: (method: string, params: Params) => void;
  /** Called when stdin has ended, or with an error other than {@link RpcError} */
  readonly end: (error: unknown) => void;
};

export type Params = Readonly<Record<string, unknown>>;

/** The messages that the program sends. */
export type Client = {
  readonly notify: (method: string, params: Params) => Promise<void>;
  /** Resolves to the client's result; rejects with its error. */
  readonly ask: (method: string, params: Params) => Promise<unknown>;
};

type Message = {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Params;
  readonly result?: unknown;
  readonly error?: unknown;
};

/** Speaks JSON-RPC on stdin and stdout, one object a line. Requests are answered side by side. */
export function serveJsonRpc(handlers: Handlers): Client {
  const waiting = new Map<unknown, (message: Message) => void>();
  let asked = 0;

  const send = (message: Params): Promise<void> =>
    write(process.stdout, `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

  async function answer({ id, method = "", params = {} }: Message): Promise<void> {
    try {
      await send({ id, result: await handlers.request(method, params) });
    } catch (error) {
      if (!isRpcError(error)) return handlers.end(error);
      const { code, data, message } = error;
      await send({ id, error: { code, message, ...(data !== undefined && { data }) } });
    }
  }

  function take(line: string): void {
    const message = parseLine(line);
    if (message === undefined) return;
    if (message.method === undefined) return waiting.get(message.id)?.(message);
    if (message.id === undefined) return handlers.notification(message.method, message.params ?? {});
    void answer(message);
  }

  createInterface({ input: process.stdin })
    .on("line", take)
    .on("close", () => handlers.end(undefined));

  return {
    notify: (method, params) => send({ method, params }),
    async ask(method, params) {
      const id = `kiro-${++asked}`;
      const answered = new Promise<Message>((resolve) => waiting.set(id, resolve));
      await send({ id, method, params });
      const { error, result } = await answered;
      waiting.delete(id);
      if (error !== undefined) throw toRpcError(-32_603, "The client refused the request.", error);
      return result;
    },
  };
}

function parseLine(line: string): Message | undefined {
  try {
    return JSON.parse(line) as Message;
  } catch {
    return undefined;
  }
}

function isRpcError(error: unknown): error is RpcError {
  return error instanceof Error && "code" in error && typeof error.code === "number" && "data" in error;
}
