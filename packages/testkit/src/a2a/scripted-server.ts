import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { serveOnLoopback } from "../serve-on-loopback.ts";

/** A call to a scripted server. */
type ScriptedCall = {
  /** The JSON-RPC method; `undefined` for a request that is not a call, such as for the card */
  readonly method: string | undefined;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly params: unknown;
};

/** Answers a request, or leaves it open. */
export type Script = (call: ScriptedCall, response: ServerResponse) => void;

export type ScriptedServer = AsyncDisposable & { readonly url: string; readonly calls: readonly ScriptedCall[] };

/** Starts a server that answers by a script, so that it can answer like no real one. */
export async function startScriptedServer(script: Script): Promise<ScriptedServer> {
  const calls: ScriptedCall[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method, params } = (body.startsWith("{") ? JSON.parse(body) : {}) as Pick<
        ScriptedCall,
        "method" | "params"
      >;
      const call = { method, params, path: request.url ?? "", headers: request.headers };
      calls.push(call);
      script(call, response);
    });
  });
  const { [Symbol.asyncDispose]: dispose, port } = await serveOnLoopback(server);
  return { url: `http://127.0.0.1:${port}/agent`, calls, [Symbol.asyncDispose]: dispose };
}
