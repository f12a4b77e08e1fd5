import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { createPendingRemovals } from "../../src/engine/pending-removals.ts";
import { createSandboxProcess, type SandboxProcess } from "../../src/turn/sandbox-process.ts";
import { createFakeEngine, type FakeEngine } from "../helpers/fake-engine.ts";

// Podman's answers, before and after the end of a container that ignores SIGTERM.
const STOPPING = { Status: "stopping", Running: false, ExitCode: 0, OOMKilled: false };
const EXITED = { Status: "exited", Running: false, ExitCode: 137, OOMKilled: false };

const REMOVED = {
  "POST /containers/c1/stop": [{ status: 204, body: "" }],
  "DELETE /containers/c1": [{ status: 204, body: "" }],
};
const MISSING = { status: 404, body: { message: "no such container" } };

describe("createSandboxProcess", () => {
  it.each([
    { reason: "timeout", graceS: 5 },
    { reason: "cancelled", graceS: 5 },
    { reason: "shutdown", graceS: 2 },
  ] as const)("gives the agent $graceS s to end, if the reason is $reason", async ({ reason, graceS }) => {
    const inspected = [{ status: 200, body: { State: EXITED } }, MISSING];
    await using engine = await createFakeEngine({ "GET /containers/c1/json": inspected, ...REMOVED });
    const socket = new PassThrough();
    const process = createProcess(engine, socket);

    const stopped = process.stop(reason);
    socket.end();
    await stopped;

    expect(engine.requests).toContain(`POST /containers/c1/stop?t=${graceS}`);
    await process.gone;
  });

  it("waits for the end of a container that Podman reports as stopping", async () => {
    const inspected = [STOPPING, STOPPING, EXITED].map((State) => ({ status: 200, body: { State } }));
    await using engine = await createFakeEngine({
      "GET /containers/c1/json": [...inspected, MISSING],
      ...REMOVED,
    });
    const process = createProcess(engine, new PassThrough().end());

    expect(await process.exit).toMatchObject({ exitCode: undefined, signal: "SIGKILL" });
    await process.gone;
  });

  it("rejects a success whose output the engine cut off", async () => {
    const inspected = [{ status: 200, body: { State: { ...EXITED, ExitCode: 0 } } }, MISSING];
    await using engine = await createFakeEngine({ "GET /containers/c1/json": inspected, ...REMOVED });
    const process = createProcess(engine, new PassThrough().end());
    process.stdout.resume();

    await expect(process.exit).rejects.toMatchObject({
      code: "AGENT_CRASHED",
      message: "The engine cut off the agent's output, so its answer is incomplete. Ask again.",
    });
    await process.gone;
  });
});

function createProcess(engine: FakeEngine, socket: PassThrough): SandboxProcess {
  return createSandboxProcess(
    { container: engine.docker.getContainer("c1"), socket, root: undefined, workspacePath: "/workspace", key: "" },
    { pendingRemovals: createPendingRemovals(), token: "token", diskBytes: Infinity, heldBytes: undefined },
  );
}
