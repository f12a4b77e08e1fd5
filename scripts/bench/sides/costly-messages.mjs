// The time that the costliest messages within the bounds take on the main loop: scanned, parsed, and checked as the SDK does.
import {
  CallToolRequestSchema,
  InitializeRequestSchema,
  isInitializeRequest,
  isJSONRPCRequest,
  JSONRPCMessageSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { parseBoundedJson, parseRequest } from "../../../packages/core/dist/bounds/index.js";
import { median } from "../lib/interleave.mjs";
import { toFigure } from "../lib/table.mjs";

const ROUNDS = 15;

const toKeys = (count) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, {}]));
const toBytes = (message) => Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }));
const fitted = (make, bytes) => make(Math.floor((4 * 2 ** 20 - 200) / bytes));

const wrong = { capabilities: { experimental: toKeys(240) }, clientInfo: { icons: Array(100).fill({}) } };
const MESSAGES = {
  "a wrong initialize": [toBytes({ method: "initialize", params: wrong }), checkRequest],
  "a request of 9,600 values": [
    toBytes({ method: "tools/call", params: { name: "x", _meta: toKeys(1600), arguments: toKeys(1600) } }),
    checkRequest,
  ],
  "an answer of 48,000 values": [toBytes({ result: toKeys(16_000) }), checkAnswer],
  "a wrong answer of 48,000 values": [toBytes(toKeys(16_000)), checkAnswer],
  "4 MiB in one string": [fitted((length) => toBytes({ result: { x: "A".repeat(length) } }), 1), checkAnswer],
  "4 MiB of é in one string": [fitted((length) => toBytes({ result: { x: "é".repeat(length) } }), 2), checkAnswer],
  "4 MiB of {}, refused": [fitted((length) => Buffer.from(`[${"{},".repeat(length)}{}]`), 3), checkAnswer],
  "4 MiB of {}, parsed": [
    fitted((length) => Buffer.from(`[${"{},".repeat(length)}{}]`), 3),
    (json) => JSON.parse(json),
  ],
};

/** Returns a row for each message. */
export function measureMessages() {
  return Object.entries(MESSAGES).map(([title, [bytes, work]]) => {
    const times = Array.from({ length: ROUNDS }, () => {
      const began = performance.now();
      try {
        work(bytes);
      } catch {
        // The message is wrong, or beyond the bounds.
      }
      return performance.now() - began;
    });
    return toFigure(title, median(times), "ms");
  });
}

function checkRequest(bytes) {
  const { value } = parseRequest(bytes);
  JSONRPCMessageSchema.parse(value);
  for (const check of [isInitializeRequest, isInitializeRequest, isJSONRPCRequest]) check(value);
  (value.method === "initialize" ? InitializeRequestSchema : CallToolRequestSchema).parse(value);
}

function checkAnswer(bytes) {
  JSONRPCMessageSchema.parse(parseBoundedJson(bytes));
}
