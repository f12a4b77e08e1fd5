import { text } from "node:stream/consumers";
import type { AllowedHost, EgressPolicy, EgressReport, RunnerSession } from "@budgie/core";
import { KIRO_IMAGE, testEngine, type Ran } from "../helpers/docker-place.ts";
import { buildImage, type TestImage } from "../image/build-image.ts";

const NODE = "/usr/local/lib/kiro-cli/node";
const SERVE = `require("node:http").createServer((q, r) => r.end("hello from " + q.headers.host + "\\n")).listen(8080)`;

/** A web server in a container, which this host and other containers on the engine's bridge can reach. */
export type WebServer = AsyncDisposable & {
  readonly address: string;
  readonly port: number;
  /** An allow-list entry for it */
  allowed(host: string): AllowedHost;
};

/** Starts a web server that says hello. */
export async function createWebServer(): Promise<WebServer> {
  const docker = await testEngine();
  const container = await docker.createContainer({
    name: `budgie-test-web-${process.pid}`,
    Image: KIRO_IMAGE,
    Entrypoint: [NODE, "-e", SERVE],
    HostConfig: { Init: true },
  });
  await container.start();
  const { NetworkSettings } = await container.inspect();
  // Podman's bridge has another name.
  const [network] = Object.values(NetworkSettings.Networks);
  const address = network?.IPAddress ?? "";
  return {
    address,
    port: 8080,
    allowed: (host) => ({ host, port: 8080, address, from: "the test" }),
    [Symbol.asyncDispose]: () => container.remove({ force: true }),
  };
}

/** The image of the stand-in, with `node` on its PATH. */
export function buildNodeImage(): Promise<TestImage> {
  return buildImage(`FROM ${KIRO_IMAGE}\nUSER root\nRUN ln -s ${NODE} /usr/local/bin/node\n`);
}

export type Reached = Ran & { readonly egress: EgressReport | undefined };

/** Runs a script in bash with a policy to its end. In it, `ask HOST:PORT` requests a page from the proxy. */
export async function runWith(
  session: RunnerSession,
  directory: string,
  { policy, script }: { readonly policy: EgressPolicy; readonly script: string },
): Promise<Reached> {
  const command = { argv: ["bash", "-c", `${ASK}\n${script}`] as const, env: {}, projections: [] };
  const access = { workspace: "rw", egress: policy, limits: {} } as const;
  const child = await session.start(command, { directory, input: "", access });
  const [stdout, stderr, exit] = await Promise.all([text(child.stdout), text(child.stderr), child.exit]);
  return { stdout, stderr, exit, egress: await child.egress?.() };
}

// The images have no curl.
const ASK = `ask() {
  exec 3<>/dev/tcp/127.0.0.1/3128 || return
  printf 'GET http://%s/ HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n' "$1" "$1" >&3
  cat <&3
}`;
