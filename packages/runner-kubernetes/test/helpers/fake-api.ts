import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { serveOnLoopback } from "@budgie/testkit";
import { connectCluster, type ClusterOptions } from "../../src/api/connect-cluster.ts";
import type { Cluster } from "../../src/api/cluster.ts";

/** A request that reached the fake API server. */
export type Heard = {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
};

/** An answer of it: a status with JSON, or whatever a function writes. */
export type Said =
  | { readonly status: number; readonly json?: unknown; readonly headers?: Record<string, string> }
  | ((response: ServerResponse) => void);

/** Starts an API server that says what a test wants, until the test is finished, and connects to it. */
export async function connectFakeApi(
  say: (heard: Heard, index: number) => Said,
  options: ClusterOptions = {},
): Promise<{ readonly cluster: Cluster; readonly heard: Heard[] }> {
  const { heard, kubeconfig } = await serveFakeApi(say);
  return { cluster: await connectCluster({ kubeconfig, ...options }), heard };
}

/** Starts an API server that says what a test wants, until the test is finished, and writes a kubeconfig for it. */
export async function serveFakeApi(
  say: (heard: Heard, index: number) => Said,
  onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void,
): Promise<{ readonly kubeconfig: string; readonly heard: Heard[] }> {
  const heard: Heard[] = [];
  const server = createServer((request, response) => {
    response.on("error", () => undefined);
    void text(request).then((body) => {
      const { headers, method = "", url = "" } = request;
      const one = { method, url: new URL(url, "http://fake"), headers, body };
      const said = say(one, heard.push(one) - 1);
      if (typeof said === "function") return said(response);
      return response.writeHead(said.status, said.headers).end(JSON.stringify(said.json ?? {}));
    });
  });
  if (onUpgrade !== undefined) server.on("upgrade", onUpgrade);
  const loopback = await serveOnLoopback(server);
  onTestFinished(() => loopback[Symbol.asyncDispose]());
  return { kubeconfig: writeKubeconfig({ server: `http://127.0.0.1:${loopback.port}` }), heard };
}

/** Writes a kubeconfig with one context "fake", until the test is finished. */
export function writeKubeconfig(cluster: object, user: object = { token: "canary-token" }): string {
  const folder = mkdtempSync(join(tmpdir(), "budgie-kubeconfig-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "config");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "fake",
    clusters: [{ name: "fake", cluster }],
    users: [{ name: "fake", user }],
    contexts: [{ name: "fake", context: { cluster: "fake", user: "fake", namespace: "agents" } }],
  };
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

/** Makes an object of the cluster. */
export function toObject(
  name: string,
  rest: { readonly metadata?: object; readonly spec?: object; readonly status?: object } = {},
) {
  const metadata = { name, uid: `uid-${name}`, resourceVersion: "1", ...rest.metadata };
  return { metadata, spec: rest.spec ?? {}, status: rest.status ?? {} };
}

/** Makes an answer to a list. */
export function toList(...items: readonly object[]): Said {
  return { status: 200, json: { metadata: { resourceVersion: "7" }, items } };
}
