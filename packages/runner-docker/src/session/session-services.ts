import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type Docker from "dockerode";
import pLimit from "p-limit";
import { BudgieError, type SessionId } from "@budgie/core";
import type { Service } from "@budgie/core/policy";
import { LOCAL_HOSTS, readOnlyBind, type MountSettings } from "@budgie/sandbox/mounts";
import { SERVICES_TARGET as TARGET, type SandboxUser } from "@budgie/sandbox/profile";
import { createContainer } from "../engine/create-container.ts";
import { demultiplex } from "../engine/demultiplex.ts";
import { ignoreMissing } from "../engine/to-budgie-error.ts";
import { toLabels } from "../engine/to-labels.ts";
import { removeContainer } from "../engine/remove-container.ts";
import { API_LIMIT_MS, timeLimit } from "../engine/with-timeout.ts";
import { bringForwarder } from "../image/ensure-session-image.ts";
import type { BesideSandbox } from "../sandbox/container-options.ts";
import { toContainerName, toServiceContainer } from "../sandbox/service-container.ts";
import { awaitExitCode } from "./await-exit-code.ts";
import type { SandboxContext } from "./sandbox-context.ts";

/** The services that run, for a sandbox beside them. */
export type OpenServices = BesideSandbox & {
  readonly mount: MountSettings;
  /** A file for `/etc/hosts`, where the engine does not write that */
  readonly hostsFile: string;
};

/** The services of a session. */
export type SessionServices = {
  /**
   * Starts those that do not run, and waits until they can be used; returns `undefined` for none. Throws `RUNNER_UNAVAILABLE` for one that
   * ends or is not ready within a minute, and `CONFIG_INVALID` where none can run.
   */
  ensure(services: readonly Service[] | undefined): Promise<OpenServices | undefined>;
  /** Removes the folder of their sockets, after their containers. */
  close(): void;
};

/**
 * Creates the services of a session. Each has a container without a network. Its socket is in a folder of the host, and a sandbox forwards
 * a loopback address of the service's own to that.
 */
export function createSessionServices(context: SandboxContext, session: SessionId, isHere: boolean): SessionServices {
  const { engine, runtime, scratchDir } = context;
  const folder = join(scratchDir, `services-${session}`);
  const inTurn = pLimit(1);
  let opened: { readonly services: readonly Service[]; readonly open: OpenServices } | undefined;

  const containerOf = ({ name }: Service): Docker.Container =>
    engine.docker.getContainer(toContainerName(session, name));

  async function isRunning(service: Service): Promise<boolean> {
    const facts = await containerOf(service).inspect(timeLimit()).catch(ignoreMissing);
    return facts?.State.Running === true;
  }

  async function start(service: Service): Promise<void> {
    const own = join(folder, service.name);
    await removeContainer(containerOf(service));
    rmSync(own, { recursive: true, force: true });
    mkdirSync(own);
    // Two users meet at the socket. The folder around keeps all others out.
    chmodSync(own, 0o777);
    const container = await create(context, { service, session, folder });
    await container.start(timeLimit());
    await until(container, service, async () => existsSync(join(own, "s")));
    // An agent that takes a service over could fill the host's disk.
    chmodSync(own, 0o755);
    const { ready } = service;
    if (ready !== undefined) await until(container, service, () => succeeds(container, ready));
  }

  async function ensure(services: readonly Service[] = []): Promise<OpenServices | undefined> {
    if (services.length === 0) return undefined;
    if (!isHere || runtime !== undefined) throw cannotRun(services);
    const isKnown = opened !== undefined && isDeepStrictEqual(opened.services, services);
    if (!isKnown) makeFolder(folder, engine.platform);
    const running = await Promise.all(services.map(async (service) => isKnown && (await isRunning(service))));
    await Promise.all(services.filter((_, index) => running[index] !== true).map(start));
    const open = toOpen(folder, services);
    if (!isKnown) writeFileSync(open.hostsFile, formatHosts(open.hosts));
    opened = { services, open };
    return open;
  }

  return {
    ensure: (services) => inTurn(() => ensure(services)),
    close() {
      try {
        rmSync(folder, { recursive: true, force: true });
      } catch {
        // A service has left folders of its own there. They stay until their user, or root, removes them.
      }
    },
  };
}

// Many services refuse to run as root, or as a user whom their image does not know.
const NOBODY: SandboxUser = { uid: 65_534, gid: 65_534 };

function makeFolder(folder: string, platform: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Each container mounts the folder, or one in it, whose users are others than its owner.
  chmodSync(folder, 0o755);
  bringForwarder(folder, platform);
}

function toOpen(folder: string, services: readonly Service[]): OpenServices {
  const addressed = services.map((service, index) => ({ ...service, address: `127.0.1.${index + 1}` }));
  return {
    mount: readOnlyBind(folder, TARGET),
    hostsFile: join(folder, "hosts"),
    hosts: addressed.map(({ address, name }) => `${name}:${address}`),
    forwarders: addressed.flatMap(({ address, name, port }) => [
      `${TARGET}/forwarder`,
      `${TARGET}/${name}/s`,
      `${address}:${port}`,
    ]),
  };
}

function formatHosts(hosts: readonly string[]): string {
  const lines = hosts.map((host) => host.split(":")).map(([name, address]) => `${address} ${name}\n`);
  return `${LOCAL_HOSTS}${lines.join("")}`;
}

type Creating = {
  readonly service: Service;
  readonly session: SessionId;
  readonly folder: string;
};

async function create(
  { engine, ensureSeccomp, findImage, owner }: SandboxContext,
  { folder, service, session }: Creating,
): Promise<Docker.Container> {
  const image = await findImage(service.image);
  const program = [...image.entrypoint, ...(service.command ?? image.command)];
  if (program.length === 0) {
    throw new BudgieError(
      "CONFIG_INVALID",
      `The image "${image.name}" of the service "${service.name}" runs nothing by itself. Give the service a "command".`,
    );
  }
  const body = toServiceContainer({
    imageId: image.id,
    // The forwarder starts programs by their path alone.
    command: [
      FORWARDER,
      "reverse",
      `${TARGET}/s`,
      String(service.port),
      "/bin/sh",
      "-c",
      'exec "$@"',
      "sh",
      ...program,
    ],
    env: service.env,
    user: NOBODY,
    mounts: [
      { type: "bind", source: join(folder, service.name), target: TARGET, isReadOnly: false },
      readOnlyBind(join(folder, "forwarder"), FORWARDER),
      ...image.volumes.map((target) => ({ type: "memory", target, bytes: DATA_BYTES }) as const),
    ],
    seccomp: ensureSeccomp(),
    hasUlimits: !engine.protections.some((protection) => protection.name === "ulimits"),
    labels: toLabels(owner.record, session, "service"),
  });
  return createContainer(engine, toContainerName(session, service.name), body);
}

const FORWARDER = "/budgie-forwarder";
// As much as a sandbox's own volumes have.
const DATA_BYTES = 512 * 1024 ** 2;
const READY_LIMIT_MS = 60_000;
const ASK_AGAIN_MS = 100;

/** Waits until a service is ready. Throws if it ends, or takes more than a minute. */
async function until(
  container: Docker.Container,
  { image, name }: Service,
  isReady: () => Promise<boolean>,
): Promise<void> {
  const limit = performance.now() + READY_LIMIT_MS;
  while (!(await isReady())) {
    const { State } = await container.inspect(timeLimit());
    if (!State.Running || performance.now() > limit) {
      const what = State.Running ? "is not ready after 60 s" : `ended with exit code ${State.ExitCode}`;
      throw new BudgieError(
        "RUNNER_UNAVAILABLE",
        `The service "${name}" (${image}) ${what}. ${await readLastWords(container)}Correct it in "workspaces", and ask again.`,
      );
    }
    await sleep(ASK_AGAIN_MS);
  }
}

/** Runs a command in a container, and returns true if it succeeds within the limit of a call to the engine. */
async function succeeds(container: Docker.Container, argv: readonly string[]): Promise<boolean> {
  try {
    const made = await container.exec({ Cmd: [...argv], ...timeLimit() });
    await made.start({ Detach: true, ...timeLimit() });
    return (await awaitExitCode(made, API_LIMIT_MS)) === 0;
  } catch {
    // The container has ended, or has no such program.
    return false;
  }
}

/** Returns a sentence with the last line that a service printed; empty if it printed none. */
async function readLastWords(container: Docker.Container): Promise<string> {
  const printed = await container
    .logs({ stdout: true, stderr: true, tail: 5, ...timeLimit() })
    .catch(() => Buffer.alloc(0));
  const words = new PassThrough();
  void demultiplex(Readable.from([Buffer.from(printed)]), { stdout: words, stderr: words, dropping: NEVER });
  const said = await text(words);
  const lines = said.split("\n").map((line) => line.replace(/[^ -~]+/g, " ").trim());
  const last = lines.findLast((line) => line !== "");
  return last === undefined ? "" : `It said: ${JSON.stringify(last.slice(-300))}. `;
}

const NEVER = new AbortController().signal;

function cannotRun(services: readonly Service[]): BudgieError {
  const names = services.map(({ name }) => `"${name}"`).join(", ");
  return new BudgieError(
    "CONFIG_INVALID",
    `The services ${names} of this directory cannot run here: they need an engine on this machine with its default runtime. Remove them from "workspaces", or choose another engine.`,
  );
}
