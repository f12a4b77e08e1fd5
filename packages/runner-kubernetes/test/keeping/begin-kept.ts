import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createOwner, createSessionId } from "@budgie/core";
import { readOwnProcess } from "@budgie/core/owners";
import { createKeptSessions } from "../../src/keeping/create-kept-sessions.ts";
import { greet, runSidecar } from "../helpers/run-sidecar.ts";
import { toLivePod } from "../files/to-live-pod.ts";

const MIB = 2 ** 20;
const LIMITS = { homeBytes: 64 * MIB, copyBytes: 64 * MIB };

/** Takes a session whose Pod is gone. */
export const WITHOUT_POD = { keepMs: 1, adopt: async () => false };

/** Collects whatever its age. */
export const ANY_AGE = { olderThanMs: 0, dryRun: false };

/** Starts a sidecar, and connects a budgie and a `hold` to it. */
export async function openKeptPod() {
  const running = await runSidecar();
  const hold = await running.connectHold();
  greet(hold);
  const budgie = await running.connectBudgie();
  return { ...toLivePod(budgie.wire), roots: running.roots, running, hold, budgie };
}

/** Makes a state directory with the sessions that two budgies keep there. The first one dies when it is released. */
export async function beginKept() {
  const stateDir = mkdtempSync(join(tmpdir(), "budgie-kept-"));
  const session = createSessionId();
  const self = readOwnProcess();
  const owner = createOwner({ stateDir, process: self && { ...self, started: "1" } });
  const other = createOwner({ stateDir });
  return {
    session,
    owner,
    other,
    kept: createKeptSessions({ stateDir, owner }),
    /** The sessions as another budgie sees them */
    others: createKeptSessions({ stateDir, owner: other }),
    folder: join(stateDir, "kubernetes-sessions", session),
    record: join(stateDir, "kubernetes-sessions", `${session}.json`),
    packing: { session, fillId: "fill", limits: LIMITS, keepMs: 3_600_000 },
    async [Symbol.asyncDispose]() {
      await owner.release();
      await other.release();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}
