import { expect, it } from "vitest";
import type { EgressPolicy, EgressReport } from "@budgie/core";
import { createIdleContainers } from "../../src/egress/idle-containers.ts";
import { createSessionEgress } from "../../src/egress/session-egress.ts";

const ALLOWLIST: EgressPolicy = { mode: "allowlist", hosts: [] };
const NONE: EgressPolicy = { mode: "none", hosts: [] };
const NOTHING: EgressReport = { allowed: [], denied: [] };
const LATE: EgressReport = { ...NOTHING, allowed: [{ host: "late.test", port: 443, count: 1 }] };

it("reports what a process did after its last report with the session's next process, once", async () => {
  const { log, network } = createNetwork();
  const first = network.join(ALLOWLIST, false);
  await first.guarded;
  expect(await first.take()).toEqual(NOTHING);
  log.push(LATE);
  await first.close();

  const next = network.join(ALLOWLIST, false);

  expect([await next.take(), await next.take()]).toEqual([LATE, NOTHING]);
});

it("reports that also with a process that has no network, and otherwise nothing", async () => {
  const { log, network } = createNetwork();
  expect(await network.join(NONE, false).take()).toBeUndefined();
  const first = network.join(ALLOWLIST, false);
  await first.guarded;
  log.push(LATE);
  await first.close();

  const next = network.join(NONE, false);

  expect([await next.take(), await next.take()]).toEqual([LATE, undefined]);
});

/** Creates the network of a session whose proxy reports what a test puts into its log. */
function createNetwork() {
  const log: EgressReport[] = [];
  const sessionProxy = {
    setPolicy: async () => undefined,
    take: async () => log.shift() ?? NOTHING,
    close: async () => undefined,
  };
  const network = createSessionEgress({
    sessionContainer: { name: "one", start: async () => undefined, stop: async () => undefined },
    proxySocket: { open: async () => sessionProxy, remove: async () => undefined },
    idleContainers: createIdleContainers({ idleMs: 60_000, most: 8 }),
    runtime: undefined,
  } as unknown as Parameters<typeof createSessionEgress>[0]);
  return { log, network };
}
