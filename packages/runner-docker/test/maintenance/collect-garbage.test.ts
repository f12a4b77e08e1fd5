import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createOwner, createSessionId } from "@budgie/core";
import { toEndedProcess } from "@budgie/testkit";
import { connectEngine } from "../../src/engine/engine.ts";
import { toLabels } from "../../src/engine/to-labels.ts";
import { collectGarbage } from "../../src/maintenance/collect-garbage.ts";
import { createFakeEngine } from "../helpers/fake-engine.ts";

it("the services of a budgie that died are named and removed with their anonymous volumes, those of a live one are kept", async () => {
  const stateDir = mkdtempSync(join(tmpdir(), "budgie-gc-"));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  const [own, dead] = [createOwner({ stateDir }), createOwner({ stateDir, process: toEndedProcess() })];
  await own.hold();
  onTestFinished(() => own.release());
  const session = createSessionId();
  const service = (Id: string, { record }: typeof own) => ({
    Id,
    Names: [`/budgie-session-${session}-${Id}`],
    Labels: { ...toLabels(record, session, "service"), "dev.budgie.created": new Date(0).toISOString() },
    State: "running",
  });
  await using engine = await createFakeEngine({
    "GET /version": { ApiVersion: "1.41" },
    "GET /info": {},
    "GET /containers/json": [{ status: 200, body: [service("db", dead), service("cache", own)] }],
    "GET /volumes": { Volumes: [] },
    "DELETE /containers/db": {},
  });
  const { docker } = await connectEngine(engine.hostEnv, "/nowhere");

  const { failed, kept, removed } = await collectGarbage(docker, own, { stateDir, olderThanMs: 0, dryRun: false });

  expect(removed).toEqual([{ kind: "container", name: `budgie-session-${session}-db`, session }]);
  expect(kept).toMatchObject([{ name: `budgie-session-${session}-cache` }]);
  expect(failed).toEqual([]);
  const deleted = engine.requests.filter((request) => request.startsWith("DELETE"));
  expect(deleted).toEqual([expect.stringMatching(/^DELETE \/containers\/db\?.*v=(?:true|1)/)]);
});
