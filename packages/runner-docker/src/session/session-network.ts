import { isDeepStrictEqual } from "node:util";
import { BudgieError, type EgressPolicy, type EgressReport } from "@budgie/core";
import type { SessionProxy } from "@budgie/egress";
import type { DoorPlace } from "../proxy/proxy-socket.ts";
import type { Holder } from "./session-container.ts";
import type { LiveHolders } from "./idle-containers.ts";

/** A session's way out: a door for its holder's network, with the policy of the process that runs. */
export type SessionEgress = {
  /** Prepares the network of a process that is about to start. Whatever becomes of it, `leave` must be called. */
  enter(policy: EgressPolicy): TurnNetwork;
  close(): Promise<void>;
};

/** The network of one process. */
export type TurnNetwork = {
  /** For a container's `NetworkMode` */
  readonly mode: string;
  /** When a container can be started in it */
  readonly joinable: Promise<unknown>;
  /** When it leads where the policy allows, and nowhere else */
  readonly guarded: Promise<unknown>;
  /** Whether it was lost, such as with a holder that somebody removed, and is there again. */
  restore(): Promise<boolean>;
  readonly isWatched: boolean;
  /** Closes it once the process has ended, and tells what was reached and refused. */
  leave(): Promise<EgressReport>;
};

export type SessionEgressParts = {
  readonly holder: Holder;
  readonly place: DoorPlace;
  readonly live: LiveHolders;
};

const CLOSED: EgressPolicy = { mode: "none", hosts: [] };
const NOTHING: EgressReport = { allowed: [], denied: [] };

/** Creates a session's way out, still closed. */
export function createSessionEgress({ holder, live, place }: SessionEgressParts): SessionEgress {
  let opening: Promise<SessionProxy> | undefined;
  let policy = CLOSED;
  let processes = 0;

  function open(): Promise<SessionProxy> {
    const opened = (opening ??= place.open());
    // One that could not be opened can be tried again.
    opened.catch(() => (opening = undefined));
    return opened;
  }

  async function guard(asked: EgressPolicy): Promise<void> {
    const door = await open();
    await door.setPolicy(asked).catch(async () => {
      // Who listened there is gone, such as a proxy in a container.
      opening = undefined;
      await (await open()).setPolicy(asked);
    });
  }

  async function leave(): Promise<EgressReport> {
    live.leave(holder);
    if (--processes === 0) policy = CLOSED;
    try {
      const door = await opening;
      if (policy === CLOSED) await door?.setPolicy(CLOSED);
      return (await door?.take()) ?? NOTHING;
    } catch {
      // What went away took its log with it.
      return NOTHING;
    }
  }

  function join(asked: EgressPolicy): TurnNetwork {
    // They share a network, and with it its door.
    if (processes > 0 && !isDeepStrictEqual(policy, asked)) throw anotherPolicy();
    processes++;
    policy = asked;
    live.enter(holder);
    let left: Promise<EgressReport> | undefined;
    return {
      mode: `container:${holder.name}`,
      joinable: settled(holder.start()),
      guarded: settled(guard(asked)),
      async restore() {
        if (await holder.isRunning()) return false;
        await holder.start();
        return true;
      },
      isWatched: true,
      leave: () => (left ??= leave()),
    };
  }

  return {
    enter: (asked) => (asked.mode === "none" || asked.mode === "bridge" ? toPlainNetwork(asked.mode) : join(asked)),
    async close() {
      live.forget(holder);
      // A door whose proxy is gone is closed, and must not keep the session from being removed.
      await opening?.then((door) => door.close()).catch(() => undefined);
      await place.remove();
    },
  };
}

function toPlainNetwork(mode: "none" | "bridge"): TurnNetwork {
  const done = Promise.resolve();
  return {
    mode,
    joinable: done,
    guarded: done,
    restore: async () => false,
    isWatched: false,
    leave: async () => NOTHING,
  };
}

/** Whoever waits for it sees it fail; nobody may. */
function settled<T>(call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  return call;
}

function anotherPolicy(): BudgieError {
  return new BudgieError(
    "INPUT_INVALID",
    "A process of this session runs with another egress policy. Wait until it has ended, or begin a new session.",
  );
}
