import { expect, it } from "vitest";
import { BudgieError } from "@budgie/core";
import { explainEnd } from "../../src/api/explain-end.ts";
import { connectFakeApi, toObject, type Said } from "../helpers/fake-api.ts";

const SILENT = new BudgieError("RUNNER_UNAVAILABLE", "The Pod said nothing.");
const running = (isReady: "True" | "False"): Said => ({
  status: 200,
  json: toObject("one", {
    spec: { nodeName: "node-7" },
    status: {
      phase: "Running",
      conditions: [{ type: "Ready", status: isReady }],
      containerStatuses: [{ name: "agent", state: { running: {} } }],
    },
  }),
});

it("a silent Pod whose node is silent too was lost with it, which the error names", async () => {
  const { cluster } = await connectFakeApi(() => running("False"));
  expect(await explainEnd(cluster, "one", SILENT)).toMatchObject({
    code: "AGENT_CRASHED",
    message: expect.stringMatching(/"one" was lost with its node "node-7".* Check that node/),
  });
});

it("a Pod that failed meanwhile says why", async () => {
  const { cluster } = await connectFakeApi(() => ({
    status: 200,
    json: toObject("one", { status: { phase: "Failed", reason: "Evicted", message: "ephemeral storage" } }),
  }));
  expect(await explainEnd(cluster, "one", SILENT)).toMatchObject({ code: "DISK_LIMIT" });
});

it.each([
  ["knows nothing better", () => running("True")],
  ["is away", (): Said => (response) => void response.destroy()],
  ["has it no more", (): Said => ({ status: 404 })],
])("the reason stays if the cluster %s", async (_what, say) => {
  const { cluster } = await connectFakeApi(say);
  expect(await explainEnd(cluster, "one", SILENT)).toBe(SILENT);
});
