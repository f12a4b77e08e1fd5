import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { createPendingRemovals } from "../../src/engine/pending-removals.ts";
import { createTurnProcess } from "../../src/turn/turn-process.ts";
import { createFakeEngine } from "../helpers/fake-engine.ts";

// Podman's answers, before and after the end of a container that ignores SIGTERM.
const STOPPING = { Status: "stopping", Running: false, ExitCode: 0, OOMKilled: false };
const EXITED = { Status: "exited", Running: false, ExitCode: 137, OOMKilled: false };

describe("createTurnProcess", () => {
  it("waits for the end of a container that Podman reports as stopping", async () => {
    const inspected = [STOPPING, STOPPING, EXITED].map((State) => ({ status: 200, body: { State } }));
    await using engine = await createFakeEngine({
      "GET /containers/c1/json": [...inspected, { status: 404, body: { message: "no such container" } }],
      "DELETE /containers/c1": [{ status: 204, body: "" }],
    });
    const process = createTurnProcess({
      container: engine.docker.getContainer("c1"),
      pendingRemovals: createPendingRemovals(),
      socket: new PassThrough().end(),
      root: undefined,
      token: "token",
      diskBytes: Infinity,
      heldBytes: undefined,
    });

    expect(await process.exit).toMatchObject({ exitCode: undefined, signal: "SIGKILL" });
    await process.gone;
  });
});
