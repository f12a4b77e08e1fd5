import type { ServerResponse } from "node:http";
import type { Script } from "@budgie/testkit";

/** Returns a field with a length, of fewer than 2^28 bytes. */
export function field(number: number, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([Buffer.from([number * 8 + 2]), varint(bytes.length), bytes]);
}

/** Returns a number as protobuf writes it. */
export function varint(value: number): Buffer {
  const digits: number[] = [];
  for (let rest = value; digits.length === 0 || rest > 0; rest = Math.floor(rest / 128)) digits.push(rest % 128);
  return Buffer.from(digits.map((digit, index) => (index < digits.length - 1 ? digit + 128 : digit)));
}

/** Returns a frame of gRPC-Web, whose head may say another length. */
export function frame(flags: number, content: Buffer | string, length?: number): Buffer {
  const bytes = Buffer.from(content);
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(length ?? bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** The trailers of a call that succeeded */
export const DONE = frame(0x80, "grpc-status: 0\r\n");

/** Returns a frame with an answer, and trailers. */
export function answer(...fields: readonly Buffer[]): Buffer {
  return Buffer.concat([frame(0, Buffer.concat(fields)), DONE]);
}

/** Starts an answer of gRPC-Web. */
export function sendGrpc(response: ServerResponse, body: Buffer): void {
  response.writeHead(200, { "content-type": "application/grpc-web+proto" });
  response.end(body);
}

/** Serves a backend of kagent 1.0 with one namespace, whose list of agents a function answers. */
export function withNamespace(listAgents: (response: ServerResponse) => void): Script {
  return ({ path }, response) => {
    if (path.endsWith("/ListNamespaces")) return sendGrpc(response, answer(field(1, field(1, "kagent"))));
    if (path.endsWith("/ListAgents")) return listAgents(response);
    response.writeHead(404).end();
  };
}

/** Returns an agent that has a revision, as an entry of a list. */
export function agent(name: string, status = object("latestSuccessfulRevision", field(3, "r1"))): Buffer {
  const ref = Buffer.concat([field(1, "kagent"), field(2, name)]);
  return field(1, Buffer.concat([field(1, ref), field(2, field(3, object("status", field(5, status))))]));
}

/** Returns a `google.protobuf.Struct` with one field. */
export function object(key: string, value: Buffer): Buffer {
  return field(1, Buffer.concat([field(1, key), field(2, value)]));
}
