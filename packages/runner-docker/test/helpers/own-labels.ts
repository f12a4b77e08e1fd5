import { randomInt } from "node:crypto";
import { createHttpEngineProxy, type HttpEngineProxy } from "./http-engine-proxy.ts";

const LABEL = "dev.budgie";

/**
 * Opens a socket in front of the engine through which budgie's labels have a prefix of their own. What is made there belongs to no budgie in
 * the eyes of others, and theirs to none here, so garbage stays for the code under test.
 */
export function createEngineWithOwnLabels(): Promise<HttpEngineProxy> {
  // As long as budgie's own, so that the lengths in headers stay true.
  const own = `${randomInt(36 ** 3)
    .toString(36)
    .padStart(3, "0")}.budgie`;
  return createHttpEngineProxy({
    toRequest: async ({ body, url }) => ({
      url: url.replaceAll(LABEL, own),
      body: Buffer.from(body.toString("latin1").replaceAll(LABEL, own), "latin1"),
    }),
    toAnswer: (_url, answer) => Buffer.from(answer.toString("latin1").replaceAll(own, LABEL), "latin1"),
  });
}
