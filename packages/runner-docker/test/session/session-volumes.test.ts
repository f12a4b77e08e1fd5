import { setImmediate as letOthersWork } from "node:timers/promises";
import { createSessionId } from "@budgie/core";
import { expect, it } from "vitest";
import { createPendingRemovals } from "../../src/engine/pending-removals.ts";
import { createHome, sessionVolumes } from "../../src/session/session-volumes.ts";

it("volumes are removed after a failure only once none is being created any more", async () => {
  const done: string[] = [];
  const missing = Object.assign(new Error("no such volume"), { statusCode: 404 });
  const docker = {
    getVolume: () => ({ inspect: () => Promise.reject(missing), remove: async () => void done.push("removed") }),
    listContainers: async () => [],
    async createVolume({ Name }: { readonly Name: string }) {
      if (!Name.endsWith("-auth")) throw new Error("The disk is full.");
      await letOthersWork();
      done.push("created");
    },
  };
  const owner = { record: { instance: "i", host: "h", lock: "/l" } };
  const engine = { docker, pendingRemovals: createPendingRemovals() };
  const context = { engine, owner } as unknown as Parameters<typeof createHome>[0];
  const session = createSessionId();
  const parts = { session, volumes: sessionVolumes(context, session, "new"), proxySocket: { remove: async () => {} } };

  await expect(createHome(context, parts as unknown as Parameters<typeof createHome>[1])).rejects.toThrow(
    "disk is full",
  );

  expect(done).toEqual(["created", "removed", "removed"]);
});
