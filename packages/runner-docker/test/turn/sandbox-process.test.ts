import { PassThrough } from "node:stream";
import { finished } from "node:stream/promises";
import { describe, expect, it } from "vitest";
import type { ContainerRoot } from "@budgie/sandbox/proc";
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

  it("is still once the kernel shows its end, before its removal, and otherwise with that", async () => {
    const inspected = [{ status: 200, body: { State: { ...EXITED, ExitCode: 0 } } }, MISSING];
    await using engine = await createFakeEngine({ "GET /containers/c1/json": inspected, ...REMOVED });
    const socket = new PassThrough();
    const process = createProcess(engine, socket, { root: ENDED });
    writeMarkers(socket);

    await process.still;
    expect(engine.requests).toEqual([]);

    socket.end();
    await process.gone;
    await using blind = await createFakeEngine({ "GET /containers/c1/json": inspected, ...REMOVED });
    await createProcess(blind, new PassThrough().end()).still;
    expect(blind.requests).toContainEqual(expect.stringMatching(/^DELETE \/containers\/c1/));
  });

  it("asks for nothing while it rests after its end, until somebody waits for its removal", async () => {
    const inspected = [{ status: 200, body: { State: { ...EXITED, ExitCode: 0 } } }, MISSING];
    await using engine = await createFakeEngine({ "GET /containers/c1/json": inspected, ...REMOVED });
    const socket = new PassThrough();
    const process = createProcess(engine, socket, { root: ENDED, restMs: LONG_MS });
    writeMarkers(socket);
    socket.end();
    for (const stream of [process.stdout, process.stderr]) stream.resume();

    expect(await process.exit).toMatchObject({ exitCode: 0 });
    await Promise.all([process.stdout, process.stderr].map((stream) => finished(stream)));
    expect(engine.requests).toEqual([]);

    process.hurry();
    await process.gone;
    expect(engine.requests).toContainEqual(expect.stringMatching(/^DELETE \/containers\/c1/));
  });

  it("is removed at once if it was stopped, or if no exit marker came", async () => {
    const inspected = [{ status: 200, body: { State: EXITED } }, MISSING];
    await using engine = await createFakeEngine({ "GET /containers/c1/json": inspected, ...REMOVED });
    const process = createProcess(engine, new PassThrough().end(), { root: ENDED, restMs: LONG_MS });
    for (const stream of [process.stdout, process.stderr]) stream.resume();

    await process.gone;
    await using stopping = await createFakeEngine({ "GET /containers/c1/json": inspected, ...REMOVED });
    const socket = new PassThrough();
    const stopped = createProcess(stopping, socket, { root: ENDED, restMs: LONG_MS });
    writeMarkers(socket);
    socket.end();
    await stopped.exit;
    await stopped.stop("cancelled");
    await stopped.gone;
  });
});

// Longer than a test may take.
const LONG_MS = 600_000;

const ENDED: ContainerRoot = {
  path: "/nonexistent",
  readMounts: async () => "",
  hasEnded: async () => true,
  [Symbol.asyncDispose]: async () => undefined,
};

function writeMarkers(socket: PassThrough): void {
  for (const stream of [1, 2]) socket.write(toFrame(stream, "\0token 0 0\n"));
}

/** Returns a frame of an attached connection. */
function toFrame(stream: number, text: string): Buffer {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(text.length, 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

type Creating = { readonly root?: ContainerRoot; readonly restMs?: number };

function createProcess(engine: FakeEngine, socket: PassThrough, { restMs = 0, root }: Creating = {}): SandboxProcess {
  return createSandboxProcess(
    { container: engine.docker.getContainer("c1"), socket, root, workspacePath: "/workspace", key: "" },
    {
      pendingRemovals: createPendingRemovals(),
      token: "token",
      diskBytes: Infinity,
      heldBytes: undefined,
      restMs: () => restMs,
    },
  );
}
