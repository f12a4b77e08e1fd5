import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import type { EngineAddress } from "./find-engine.ts";
import { requestEngine } from "./request-engine.ts";

/** Asks an engine for one thing. It does without dockerode, which takes longer to load than an engine to answer. */
export async function getJson<T>(address: EngineAddress, path: string, signal: AbortSignal): Promise<T> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    requestEngine(address, { path, signal }).once("response", resolve).once("error", reject).end();
  });
  const { statusCode } = response;
  const answer = toValue(await text(response));
  if (statusCode === 200) return answer as T;
  const { message = "" } = Object(answer) as { readonly message?: string };
  throw Object.assign(new Error(`(HTTP code ${statusCode}) ${message}`), { statusCode, json: answer });
}

/** What is no JSON is no engine's, and has nothing of what is looked for in it. */
function toValue(said: string): unknown {
  try {
    return JSON.parse(said);
  } catch {
    return said;
  }
}
