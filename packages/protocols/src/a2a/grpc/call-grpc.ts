import type { IncomingMessage } from "node:http";
import { BudgieError } from "@budgie/core";
import { createMask } from "../http/mask.ts";
import { oneLine } from "../http/one-line.ts";
import { checkStatus, plainUrl, readBytes, send, type HttpRequest } from "../http/send.ts";

/** A call of a gRPC method that answers once. */
export type GrpcCall = Pick<HttpRequest, "headers" | "signal" | "who"> & {
  readonly base: string;
  /** Its service and name, such as `lf.a2a.v1.A2AService/GetTask` */
  readonly method: string;
  /** The only field of the request, number 1, if it is not empty; at most 127 characters of ASCII */
  readonly argument: string;
};

const LARGEST_BYTES = 4 * 1024 * 1024;
const LONGEST_TRAILERS = 16 * 1024;
const [TRAILERS, HEAD_BYTES] = [0x80, 5];
const [UNIMPLEMENTED, ...LOGIN] = ["12", "7", "16"];

/**
 * Calls a method by gRPC-Web, over HTTP/1.1, and resolves to its answer of at most 4 MiB; `undefined` if the server has no such
 * method. Throws `LOGIN_REQUIRED`, `AGENT_FAILED`, and the errors of requests.
 */
export async function callGrpc(call: GrpcCall): Promise<Buffer | undefined> {
  const { argument, base, method, signal, who } = call;
  const url = new URL(`${base}/${method}`);
  const type = "application/grpc-web+proto";
  const headers = { ...call.headers, "content-type": type, accept: type, "x-grpc-web": "1" };
  const response = await send({ who, url, headers, body: toFrame(argument), signal });
  const body = await readBytes(response, { maxBytes: LARGEST_BYTES, who });
  const status = response.statusCode ?? 0;
  if (status === 404) return undefined;
  checkStatus(status, body.toString("utf8", 0, LONGEST_TRAILERS), { headers: call.headers, url, who });
  if (response.headers["content-type"]?.startsWith("application/grpc-web") !== true) throw noGrpc(call, url);
  const { answer, trailers } = readFrames(body, () => noGrpc(call, url));
  const code = findTrailer("grpc-status", trailers, response);
  if (code === UNIMPLEMENTED) return undefined;
  if (code !== "0") throw toError({ code, message: findTrailer("grpc-message", trailers, response) ?? "" }, call, url);
  return answer;
}

function toFrame(argument: string): Buffer {
  const text = Buffer.from(argument);
  const message = text.length === 0 ? text : Buffer.concat([Buffer.from([0x0a, text.length]), text]);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Reads at most one answer, which is not compressed, and the trailers behind it. */
function readFrames(body: Buffer, fail: () => BudgieError): { readonly answer: Buffer; readonly trailers: string } {
  let answer: Buffer | undefined;
  let at = 0;
  while (at < body.length) {
    if (at + HEAD_BYTES > body.length) throw fail();
    const [flags, start] = [body[at], at + HEAD_BYTES];
    const end = start + body.readUInt32BE(at + 1);
    if (end > body.length) throw fail();
    const content = body.subarray(start, end);
    at = end;
    if (flags === TRAILERS)
      return { answer: answer ?? Buffer.alloc(0), trailers: content.toString("utf8", 0, LONGEST_TRAILERS) };
    if (flags !== 0 || answer !== undefined) throw fail();
    answer = content;
  }
  return { answer: answer ?? Buffer.alloc(0), trailers: "" };
}

/** Returns a trailer, which is a header of an answer that has no body. */
function findTrailer(name: string, trailers: string, { headers }: IncomingMessage): string | undefined {
  const line = trailers.split("\r\n").find((one) => one.toLowerCase().startsWith(`${name}:`));
  const value = line === undefined ? headers[name] : line.slice(name.length + 1);
  return typeof value === "string" ? value.trim() : undefined;
}

type Failure = { readonly code: string | undefined; readonly message: string };

function toError({ code, message }: Failure, { headers, who }: GrpcCall, url: URL): BudgieError {
  const place = plainUrl(url);
  if (code === undefined) {
    return new BudgieError("AGENT_CRASHED", `The connection to ${who} ended before its answer did. Ask it again.`);
  }
  if (LOGIN.includes(code)) {
    return new BudgieError(
      "LOGIN_REQUIRED",
      `The server of ${who} at ${place} refused budgie (gRPC status ${code}). Set "headers" in its section, and the variables that they name.`,
    );
  }
  const words = oneLine(createMask(headers)(decode(message)), 300);
  const reason = words === "" ? "" : `: ${words}`;
  return new BudgieError(
    "AGENT_FAILED",
    `The server of ${who} at ${place} answered with gRPC status ${oneLine(createMask(headers)(code), 20)}${reason}.`,
  );
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Only the message of an error; a server may have forgotten to encode it.
    return text;
  }
}

function noGrpc({ who }: GrpcCall, url: URL): BudgieError {
  return new BudgieError(
    "AGENT_FAILED",
    `The server of ${who} at ${plainUrl(url)} answered with something that is not gRPC-Web. Correct "url".`,
  );
}
