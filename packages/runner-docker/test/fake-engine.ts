import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** An engine's answers by `METHOD /path`; a missing one is a 404, and `"never"` is none at all. */
export type Answers = Readonly<Record<string, unknown>>;

export type FakeEngine = AsyncDisposable & {
  readonly hostEnv: { readonly DOCKER_HOST: string };
  readonly requests: readonly string[];
};

/** Serves answers on a unix socket, for engines that cannot be had. */
export async function createFakeEngine(answers: Answers): Promise<FakeEngine> {
  const folder = mkdtempSync(join(tmpdir(), "budgie-fake-"));
  const socket = join(folder, "engine.sock");
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    answer(answers, request, response);
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return {
    hostEnv: { DOCKER_HOST: `unix://${socket}` },
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true });
    },
  };
}

function answer(answers: Answers, { method, url = "" }: IncomingMessage, response: ServerResponse): void {
  const body = answers[`${method} ${url.split("?")[0]}`];
  if (body === "never") return;
  response.writeHead(body === undefined ? 404 : 200, { "Content-Type": "application/json" });
  response.end(JSON.stringify(body ?? { message: `page not found: ${url}` }));
}
