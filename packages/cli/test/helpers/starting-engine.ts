import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { WHOLE_ENGINE } from "../../../runner-docker/test/helpers/fake-engine.ts";

/** An engine on which a sandbox can be prepared, but never started. */
export type StartingEngine = AsyncDisposable & {
  readonly hostEnv: { readonly DOCKER_HOST: string };
  /** Tells whether a request with this path starts a turn's container, and not a session's. */
  readonly startsTurn: (path: string) => boolean;
};

/**
 * Serves an engine that creates what a session needs, lets a turn's container be created once the session's home is filled,
 * and refuses to start that container.
 */
export async function createStartingEngine(): Promise<StartingEngine> {
  const folder = mkdtempSync(join(tmpdir(), "budgie-starting-"));
  const socket = join(folder, "engine.sock");
  const state: EngineState = { containers: [], imageLabels: {} };
  const attached = new Set<Duplex>();
  let homeFilled = createGate();
  let filled = 0;

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://engine");
    void text(request).then(async (body) => {
      if (isCreation(url, "turn")) {
        await homeFilled.opened;
        homeFilled = createGate();
      }
      const [status, answered] = answer(`${request.method}`, url, { body, state });
      response.writeHead(status, { "Content-Type": "application/json" }).end(answered && JSON.stringify(answered));
      // One request fills the home, and one the volume of the login.
      if (request.method === "PUT" && ++filled % 2 === 0) homeFilled.open();
    });
  });
  server.on("upgrade", (_request, stream: Duplex) => {
    attached.add(stream);
    stream.write("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return {
    hostEnv: { DOCKER_HOST: `unix://${socket}` },
    startsTurn(path) {
      const [, key = ""] = /^\/containers\/([^/]+)\/start$/.exec(path) ?? [];
      return isTurn(findContainer(state, key));
    },
    async [Symbol.asyncDispose]() {
      for (const stream of attached) stream.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true });
    },
  };
}

type EngineState = {
  containers: readonly Container[];
  /** The labels of the session containers' image, once it is loaded */
  imageLabels: Readonly<Record<string, string | undefined>>;
};

type Container = {
  readonly Id: string;
  readonly Name: string;
  readonly Config: unknown;
  readonly State: { Running: boolean; readonly Pid: number };
};

type Answer = readonly [status: number, body?: unknown];

type Asked = { readonly key: string; readonly verb: string | undefined; readonly url: URL; readonly body: string };

/** Answers by method and kind of resource. */
const ANSWERS: Readonly<Record<string, (asked: Asked, state: EngineState) => Answer>> = {
  "GET version": () => [200, { ApiVersion: "1.41", Version: "20.10.24", Os: "linux", Arch: "amd64" }],
  "GET info": () => [200, { ...WHOLE_ENGINE, NCPU: 2, MemTotal: 2 ** 33, KernelVersion: release() }],
  "GET images": (_asked, { imageLabels }) => [
    200,
    { Id: "sha256:abc", Created: "2026-01-02T03:04:05Z", Config: { Labels: imageLabels } },
  ],
  "POST images"({ body }, state) {
    state.imageLabels = { "dev.budgie.content": /"dev\.budgie\.content":"([0-9a-f]+)"/.exec(body)?.[1] };
    return [200];
  },
  "POST volumes": ({ url }) => [201, { Name: url.searchParams.get("Name") }],
  "DELETE volumes": () => [204],
  "GET containers"({ key }, state) {
    if (key === "json") return [200, []];
    const found = findContainer(state, key);
    return found === undefined ? [404, { message: "no such container" }] : [200, found];
  },
  "PUT containers": () => [200],
  "POST containers"(asked, state) {
    if (asked.key === "create") return create(asked, state);
    const found = findContainer(state, asked.key);
    if (found === undefined || asked.verb !== "start") return [204];
    if (isTurn(found)) return [500, { message: "This engine starts no turn." }];
    found.State.Running = true;
    return [204];
  },
  "DELETE containers"({ key }, state) {
    const found = findContainer(state, key);
    state.containers = state.containers.filter((container) => container !== found);
    return [204];
  },
};

function answer(
  method: string,
  url: URL,
  { body, state }: { readonly body: string; readonly state: EngineState },
): Answer {
  const [kind, key = "", verb] = url.pathname.slice(1).split("/");
  return (
    ANSWERS[`${method} ${kind}`]?.({ key, verb, url, body }, state) ?? [
      404,
      { message: `no ${method} ${url.pathname}` },
    ]
  );
}

function findContainer({ containers }: EngineState, key: string): Container | undefined {
  return containers.find(({ Id, Name }) => Id === key || Name === `/${key}`);
}

function isTurn(container: Container | undefined): boolean {
  return container?.Name.startsWith(nameOf("turn")) === true;
}

function create({ body, url: { searchParams } }: Asked, state: EngineState): Answer {
  const Id = randomBytes(32).toString("hex");
  const State = { Running: false, Pid: 0 };
  const made = { Id, Name: `/${searchParams.get("name")}`, Config: JSON.parse(body) as unknown, State };
  state.containers = [...state.containers, made];
  return [201, { Id }];
}

function isCreation({ pathname, searchParams }: URL, role: string): boolean {
  return pathname === "/containers/create" && `/${searchParams.get("name")}`.startsWith(nameOf(role));
}

function nameOf(role: string): string {
  return `/budgie-${role}-`;
}

function createGate() {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}
