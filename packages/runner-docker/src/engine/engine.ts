import { createRequire } from "node:module";
import type Docker from "dockerode";
import type { DockerOptions } from "dockerode";
import { BudgieError } from "@budgie/core";
import type { EngineUsers } from "@budgie/sandbox/profile";
import { findSshConnections } from "../ssh/find-ssh-connections.ts";
import { API_LIMIT_MS } from "./with-timeout.ts";
import { getJson } from "./request-engine.ts";
import {
  listEngineProtections,
  judgeUlimits,
  findUsers,
  type EngineInfo,
  type EngineProtection,
} from "./engine-protection.ts";
import { createPendingRemovals, type PendingRemovals } from "./pending-removals.ts";
import {
  findEndpoints,
  usualSockets,
  type Endpoint,
  type EngineAddress,
  type HostEnvironment,
  type SilentEndpoint,
} from "./find-endpoints.ts";

/** A container engine that answered. */
export type Engine = {
  readonly docker: Docker;
  /** The removals that are not yet confirmed */
  readonly pendingRemovals: PendingRemovals;
  readonly endpoint: Endpoint;
  readonly name: "Docker" | "Podman";
  readonly version: string;
  readonly apiVersion: string;
  /** The platform of its programs, in Go's names, such as `linux/amd64` */
  readonly platform: string;
  readonly cpus: number;
  /** Memory of its machine */
  readonly memoryBytes: number;
  /** The system's name as the engine reports it, such as `Docker Desktop` */
  readonly system: string;
  /** The release of the kernel that its containers share */
  readonly kernel: string;
  /** Path of its data on its machine; empty if unknown */
  readonly rootDir: string;
  /** Names of the runtimes that can run its containers */
  readonly runtimes: readonly string[];
  readonly users: EngineUsers;
  readonly protections: readonly EngineProtection[];
};

// The API of Docker 20.10 and of Podman 4.
const OLDEST_API: readonly [number, number] = [1, 40];

/**
 * Connects to the user's engine. Throws `RUNNER_UNAVAILABLE` with the places that were tried and the remedy; its `cause` lists each as a
 * {@link SilentEndpoint} if none answered. `onTry` is called
 * with each endpoint at once, for further requests in parallel: the engine that answers is the last one tried.
 */
export async function connectEngine(
  env: HostEnvironment,
  home: string,
  onTry?: (endpoint: Endpoint) => void,
): Promise<Engine> {
  const endpoints = findEndpoints(env, home);
  const problems: string[] = [];
  const cause: SilentEndpoint[] = [];
  for (const endpoint of endpoints) {
    const probing = probe(endpoint);
    onTry?.(endpoint);
    try {
      return await probing;
    } catch (error) {
      if (error instanceof BudgieError) throw error;
      const { foundBy, url } = endpoint;
      cause.push({ foundBy, url, code: (error as NodeJS.ErrnoException).code });
      problems.push(`${url} (from ${foundBy}): ${formatReason(error)}`);
    }
  }
  throw new BudgieError("RUNNER_UNAVAILABLE", formatSilence({ problems, cause }, usualSockets(env, home)), { cause });
}

type Version = {
  readonly ApiVersion?: string;
  readonly Version?: string;
  readonly Os?: string;
  readonly Arch?: string;
  readonly Components?: readonly { readonly Name?: string }[];
};

type Info = EngineInfo & {
  readonly NCPU?: number;
  readonly MemTotal?: number;
  readonly OperatingSystem?: string;
  readonly KernelVersion?: string;
  readonly DockerRootDir?: string;
  readonly Runtimes?: Readonly<Record<string, unknown>>;
};

async function probe(endpoint: Endpoint): Promise<Engine> {
  const { address } = endpoint;
  const signal = AbortSignal.timeout(API_LIMIT_MS);
  // Only `info` reports rootless and userns mode. Both requests run in parallel, since each waits for the engine.
  const [version, info] = await Promise.all([
    getJson<Version>(address, "/version", signal),
    getJson<Info>(address, "/info", signal),
  ]);
  const apiVersion = version.ApiVersion ?? "";
  refuseOld(apiVersion, endpoint);
  const isPodman = version.Components?.some(({ Name }) => Name?.startsWith("Podman") === true) === true;
  const named = { name: isPodman ? "Podman" : "Docker", version: version.Version ?? "" } as const;
  let client: Docker | undefined;
  return {
    get docker() {
      client ??= openClient(endpoint);
      return client;
    },
    pendingRemovals: createPendingRemovals(),
    endpoint,
    ...named,
    apiVersion,
    platform: `${version.Os ?? "unknown"}/${version.Arch ?? "unknown"}`,
    ...toMachine(info),
    rootDir: info.DockerRootDir ?? "",
    runtimes: Object.keys(info.Runtimes ?? {}).toSorted(),
    users: findUsers(info),
    protections: [...listEngineProtections(info), ...judgeUlimits(named)],
  };
}

function toMachine({ KernelVersion = "", MemTotal = 0, NCPU = 1, OperatingSystem = "" }: Info) {
  return { cpus: NCPU, memoryBytes: MemTotal, system: OperatingSystem, kernel: KernelVersion };
}

/** Loads dockerode on first use, since it costs about 100 ms and 20 MB. */
function openClient({ address }: Endpoint): Docker {
  const Client = createRequire(import.meta.url)("dockerode") as typeof Docker;
  // dockerode takes omitted options from this process's DOCKER_* variables.
  const nothing = { host: undefined, port: undefined, pathPrefix: undefined, timeout: undefined };
  const noTls = { ca: undefined, cert: undefined, key: undefined };
  return new Client({ ...nothing, ...noTls, ...toClientOptions(address) } as DockerOptions);
}

function toClientOptions(address: EngineAddress) {
  if ("socketPath" in address) return { ...address, protocol: "http" };
  if ("ssh" in address) return { host: "engine", protocol: "http", agent: findSshConnections(address) };
  const { tls, ...place } = address;
  return { ...tls, ...place };
}

function refuseOld(apiVersion: string, { url }: Endpoint): void {
  const [major = 0, minor = 0] = apiVersion.split(".").map(Number);
  if (major > OLDEST_API[0] || (major === OLDEST_API[0] && minor >= OLDEST_API[1])) return;
  throw new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The engine at ${url} speaks API ${apiVersion || "of no known version"}, and budgie needs ${OLDEST_API.join(".")}. ` +
      `Update it to Docker 20.10, Podman 4 or later.`,
  );
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "permission denied; join the engine's group, such as docker",
  ECONNREFUSED: "nothing listens there",
  ENOENT: "nothing listens there",
  ABORT_ERR: `no answer within ${API_LIMIT_MS / 1000} s`,
};

function formatReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return REASONS[code ?? ""] ?? message;
}

type Silence = { readonly problems: readonly string[]; readonly cause: readonly SilentEndpoint[] };

/** Returns the sentences about an engine that does not answer. One that refuses its socket runs already, and needs no start. */
export function formatSilence({ cause, problems }: Silence, sockets: readonly string[]): string {
  const remedy = ` Start Docker or Podman, or set DOCKER_HOST.`;
  if (problems.length === 0) return `No container engine was found at ${sockets.join(", ")}.${remedy}`;
  const isRefused = cause.every(({ code }) => code === "EACCES");
  return `Cannot reach a container engine at ${problems.join("; ")}.${isRefused ? "" : remedy}`;
}
