import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BudgieError } from "@budgie/core";
import type { SshAddress } from "../ssh/open-ssh-connection.ts";
import { parseSshHost } from "../ssh/parse-ssh-host.ts";

/** An address at which an engine may listen, and how it was found. */
export type Endpoint = {
  readonly address: EngineAddress;
  /** For messages, such as `unix:///var/run/docker.sock` */
  readonly url: string;
  /** Such as `DOCKER_HOST`, `the docker context "colima"` or `the usual sockets` */
  readonly foundBy: string;
};

/** An endpoint at which no engine answered. */
export type SilentEndpoint = Pick<Endpoint, "foundBy" | "url"> & {
  /** Node's name of the error, such as `EACCES` */
  readonly code: string | undefined;
};

export type EngineAddress =
  | { readonly socketPath: string }
  | SshAddress
  | {
      readonly host: string;
      readonly port: number;
      readonly protocol: "http" | "https";
      readonly tls: EngineTls | undefined;
    };

type EngineTls = { readonly ca: string; readonly cert: string; readonly key: string };

export type HostEnvironment = Readonly<Record<string, string | undefined>>;

/**
 * Lists the endpoints to try, best first. An endpoint that the user chose with `DOCKER_HOST` or a docker context is the only
 * one: no other engine may replace it when it is down. The order is the docker command's.
 */
export function findEndpoints(env: HostEnvironment, home: string): readonly Endpoint[] {
  const chosen = fromEnvironment(env, home) ?? fromContext(env, home);
  if (chosen !== undefined) return [chosen];
  return usualSockets(env, home)
    .filter((path) => existsSync(path))
    .map((path) => ({ address: { socketPath: path }, url: `unix://${path}`, foundBy: "the usual sockets" }));
}

/** Lists the usual sockets of Docker, rootless Docker, Docker Desktop, Colima, OrbStack, Rancher Desktop and Podman. */
export function usualSockets(env: HostEnvironment, home: string): readonly string[] {
  const runtime = valueOf(env, "XDG_RUNTIME_DIR");
  return [
    "/var/run/docker.sock",
    ...(runtime === undefined ? [] : [join(runtime, "docker.sock")]),
    join(home, ".docker/run/docker.sock"),
    join(home, ".docker/desktop/docker.sock"),
    join(home, ".colima/default/docker.sock"),
    join(home, ".orbstack/run/docker.sock"),
    join(home, ".rd/docker.sock"),
    ...(runtime === undefined ? [] : [join(runtime, "podman/podman.sock")]),
    "/run/podman/podman.sock",
  ];
}

function fromEnvironment(env: HostEnvironment, home: string): Endpoint | undefined {
  const url = valueOf(env, "DOCKER_HOST");
  if (url === undefined) return undefined;
  const wantsTls = valueOf(env, "DOCKER_TLS_VERIFY") !== undefined;
  const tls = wantsTls ? readTls(valueOf(env, "DOCKER_CERT_PATH") ?? join(home, ".docker")) : undefined;
  return parseEndpoint(url, { foundBy: "DOCKER_HOST", tls, env });
}

/** Reads the docker command's current context, which the API libraries ignore. */
function fromContext(env: HostEnvironment, home: string): Endpoint | undefined {
  const configDir = valueOf(env, "DOCKER_CONFIG") ?? join(home, ".docker");
  const name = contextName(env, configDir);
  if (name === "default") return undefined;
  const id = createHash("sha256").update(name).digest("hex");
  const url = readJson<ContextMeta>(join(configDir, "contexts/meta", id, "meta.json"))?.Endpoints?.docker?.Host;
  const certificates = join(configDir, "contexts/tls", id, "docker");
  if (url !== undefined) {
    const tls = existsSync(certificates) ? readTls(certificates) : undefined;
    return parseEndpoint(url, { foundBy: `the docker context "${name}"`, tls, env });
  }
  throw new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The docker context "${name}" has no endpoint in "${configDir}". Choose another with "docker context use", or set DOCKER_HOST.`,
  );
}

function contextName(env: HostEnvironment, configDir: string): string {
  const configured = readJson<DockerConfig>(join(configDir, "config.json"))?.currentContext;
  return valueOf(env, "DOCKER_CONTEXT") ?? (configured || "default");
}

/** Returns a variable's value. An empty one counts as unset: as a path it would mean the current folder. */
function valueOf(env: HostEnvironment, name: string): string | undefined {
  const value = env[name];
  return value === "" ? undefined : value;
}

type DockerConfig = { readonly currentContext?: string };

type ContextMeta = { readonly Endpoints?: { readonly docker?: { readonly Host?: string } } };

type Finding = {
  readonly foundBy: string;
  readonly tls: EngineTls | undefined;
  readonly env: HostEnvironment;
};

function parseEndpoint(url: string, { env, foundBy, tls }: Finding): Endpoint {
  const unix = /^unix:\/\/(.+)$/.exec(url)?.[1];
  if (unix !== undefined) return { address: { socketPath: unix }, url, foundBy };
  if (url.startsWith("ssh://")) return { address: { ssh: parseSshHost(url, foundBy), env }, url, foundBy };
  const tcp = /^(?:tcp|https?):\/\/(\[[^\]]+\]|[^:/]+)(?::(\d+))?\/?$/.exec(url);
  if (tcp === null) {
    throw new BudgieError(
      "RUNNER_UNAVAILABLE",
      `Cannot use the engine at "${url}" (from ${foundBy}). Give it as unix://, ssh://, tcp:// or https://.`,
    );
  }
  const secure = tls !== undefined || url.startsWith("https:");
  const host = (tcp[1] ?? "").replace(/^\[|\]$/g, "");
  const port = Number(tcp[2] ?? (secure ? 2376 : 2375));
  return { address: { host, port, protocol: secure ? "https" : "http", tls }, url, foundBy };
}

function readTls(folder: string): EngineTls {
  const read = (name: string): string => readFileSync(join(folder, name), "utf8");
  try {
    return { ca: read("ca.pem"), cert: read("cert.pem"), key: read("key.pem") };
  } catch (cause) {
    throw new BudgieError(
      "RUNNER_UNAVAILABLE",
      `Cannot read the engine's TLS files ca.pem, cert.pem and key.pem in "${folder}". Check DOCKER_CERT_PATH.`,
      { cause },
    );
  }
}

function readJson<T>(path: string): T | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as T;
  } catch {
    return undefined;
  }
}
