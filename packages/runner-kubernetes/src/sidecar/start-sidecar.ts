import { rm } from "node:fs/promises";
import { createServer, type AddressInfo, type ListenOptions, type Server } from "node:net";
import { BudgieError } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
import { createHoldLink, unusableError, type HoldLink } from "../hold/hold-link.ts";
import type { Clock } from "../wire/clock.ts";
import type { Opening } from "../wire/opening.ts";
import type { WireStream } from "../wire/wire-stream.ts";
import { answerRequest } from "./answer-request.ts";
import { createTurns } from "./create-turns.ts";
import { createHidingPlace } from "./hiding-place.ts";
import { makeFolders, type PodRoots } from "./pod-roots.ts";
import { createBridges } from "./bridges.ts";
import { createEgressServer } from "./egress-server.ts";

/** A sidecar that listens. */
export type Sidecar = {
  /** The port of the agent's connections, on the loopback interface */
  readonly egressPort: number;
  /** Kills what runs, and ends the agent's container */
  readonly stop: () => void;
  /** Resolves once it has been stopped, or no bridge was connected for 120 seconds */
  readonly ended: Promise<void>;
};

/** The settings of a sidecar. */
export type SidecarOptions = {
  readonly roots: PodRoots;
  /** 0 for any free one */
  readonly egressPort: number;
  readonly clock?: Clock;
};

// The agent's image may have to be fetched first.
const HOLD_LIMIT_MS = 60_000;

/** Starts the sidecar. `hold` connects once it listens. */
export async function startSidecar({ egressPort, roots, ...options }: SidecarOptions): Promise<Sidecar> {
  await makeFolders(roots);
  let finish: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (finish = resolve));
  const holdServer = createServer();
  const connecting = awaitHold(holdServer);
  const hiding = createHidingPlace(roots);
  const copy = { fillId: undefined };
  const egress = createEgressServer(() => open({ purpose: "egress" }));
  const openStderr = (): WireStream => open({ purpose: "stderr" });
  const turns = createTurns({ roots, hiding, hold, openStderr, dropConnections: egress.drop });
  const bridges = createBridges({
    ...options,
    onStream: (stream) => void answerRequest(stream, { roots, turns, hiding, copy, hold }),
    // The stream of a turn ends with its wire, and the turn with that.
    onEnd: () => void (turns.isRunning() ? undefined : hiding.restore().catch(() => undefined)),
    onAbandoned: stop,
  });

  async function hold(): Promise<HoldLink> {
    const link = await orAborted(connecting, AbortSignal.timeout(HOLD_LIMIT_MS)).catch(() => {
      throw absentError();
    });
    if (!link.isOpen()) throw unusableError();
    return link;
  }

  function open(opening: Opening): WireStream {
    const wire = bridges.wire();
    if (wire === undefined) throw absentError();
    return wire.open(opening);
  }

  function stop(): void {
    turns.stop("KILL");
    bridges.close();
    egress.server.close();
    holdServer.close();
    void connecting.then((link) => link.close());
    finish();
  }

  for (const socket of [roots.holdSocket, roots.wireSocket]) await rm(socket, { force: true });
  await listen(holdServer, { path: roots.holdSocket });
  await listen(bridges.server, { path: roots.wireSocket });
  await listen(egress.server, { host: "127.0.0.1", port: egressPort });
  return { egressPort: (egress.server.address() as AddressInfo).port, stop, ended };
}

/** Accepts one connection, and no other. */
function awaitHold(server: Server): Promise<HoldLink> {
  return new Promise((resolve) => {
    server.on("connection", (socket) => {
      if (!server.listening) return void socket.destroy();
      server.close();
      resolve(createHoldLink(socket));
    });
  });
}

function listen(server: Server, where: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(where, resolve);
  });
}

function absentError(): BudgieError {
  return new BudgieError("RUNNER_UNAVAILABLE", "The agent's container of the Pod does not run yet. Try again.");
}
