import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Docker from "dockerode";

/**
 * An engine's answers by `METHOD /path`. A missing one is a 404, and `"never"` is no answer. The entries of a list are given in order, the
 * last one repeatedly.
 */
export type Answers = Readonly<Record<string, unknown>>;

/** An answer in such a list. */
type Reply = { readonly status: number; readonly body: unknown };

export type FakeEngine = AsyncDisposable & {
  readonly docker: Docker;
  readonly hostEnv: { readonly DOCKER_HOST: string };
  readonly requests: readonly string[];
};

/** The `GET /info` of an engine that lacks no protection. */
export const WHOLE_ENGINE = {
  MemoryLimit: true,
  SwapLimit: true,
  PidsLimit: true,
  CpuCfsQuota: true,
  SecurityOptions: ["name=seccomp,profile=builtin"],
};

/** Serves answers on a unix socket, for engines that are not installed. */
export async function createFakeEngine(answers: Answers): Promise<FakeEngine> {
  const folder = mkdtempSync(join(tmpdir(), "budgie-fake-"));
  const socket = join(folder, "engine.sock");
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    answer(toReply(answers, request, requests), response);
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return {
    docker: new Docker({ socketPath: socket }),
    hostEnv: { DOCKER_HOST: `unix://${socket}` },
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true });
    },
  };
}

function toReply(answers: Answers, { method, url = "" }: IncomingMessage, requests: readonly string[]): Reply {
  const asked = `${method} ${url.split("?")[0]}`;
  const found = answers[asked];
  if (found === undefined) return { status: 404, body: { message: `page not found: ${url}` } };
  if (!Array.isArray(found)) return { status: 200, body: found };
  const times = requests.filter((request) => request.split("?")[0] === asked).length;
  return (found as readonly Reply[])[Math.min(times, found.length) - 1] as Reply;
}

function answer({ body, status }: Reply, response: ServerResponse): void {
  if (body === "never") return;
  response.writeHead(status, { "Content-Type": "application/json" });
  // Engines end JSON with a newline.
  response.end(status === 204 ? "" : `${JSON.stringify(body)}\n`);
}
