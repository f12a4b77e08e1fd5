import { expect, it } from "vitest";
import { BudgieError } from "@budgie/core";
import { findRefusal } from "../../src/api/index.ts";
import { connectFakeApi, toObject, type Said } from "../helpers/fake-api.ts";

const toPod = (status: object): Said => ({ status: 200, json: toObject("one", { status }) });
const RUNNING = toPod({ phase: "Running", containerStatuses: [{ state: { running: {} } }] });
const EVICTED = toPod({ phase: "Failed", reason: "Evicted", message: "low on resource: ephemeral-storage" });
const OTHER: Said = { status: 200, json: toObject("one", { metadata: { uid: "another" } }) };

/** Asks what to do after an exec that failed, of a cluster that answers about the Pod in this way. */
async function ask(status: number | undefined, said: Said) {
  const { cluster } = await connectFakeApi(() => said);
  const cause = status === undefined ? undefined : { status };
  const failure = new BudgieError("CONFIG_INVALID", "Refused.", { cause });
  return findRefusal(cluster, { name: "one", uid: "uid-one" }, failure);
}

it.each<[string, [number | undefined, Said], string | undefined]>([
  ["is forbidden, in a Pod that runs", [403, RUNNING], "Refused."],
  ["is forbidden, in a Pod that has failed", [403, EVICTED], "was evicted"],
  ["found no Pod, which is gone", [404, { status: 404 }], "was deleted by somebody else"],
  ["found no Pod, in place of which is another one", [404, OTHER], "was deleted by somebody else"],
  ["found no container, in a Pod that has failed", [404, EVICTED], "was evicted"],
  ["found no container, in a Pod that runs", [404, RUNNING], undefined],
  ["had credentials that are renewed", [401, RUNNING], undefined],
  ["failed in the cluster", [500, EVICTED], undefined],
  ["broke", [undefined, EVICTED], undefined],
])("an exec that %s ends a session only for good reason", async (_what, [status, said], why) => {
  const message = (await ask(status, said))?.message;
  if (why === undefined) expect(message).toBeUndefined();
  else expect(message).toContain(why);
});

it("nothing is given up while the cluster does not answer about the Pod", async () => {
  await expect(ask(403, { status: 403, json: { message: "not now" } })).rejects.toMatchObject({
    code: "CONFIG_INVALID",
  });
});
