import { afterAll, describe, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { createDockerPlace, run, testEngine } from "../helpers/docker-place.ts";

const place = createDockerPlace();
afterAll(() => place[Symbol.asyncDispose]());

describe("the runtime of a sandbox", () => {
  // A second name of the usual runtime, which the engine uses only on request.
  it("is the requested one", async () => {
    const { runner } = await place.createRunner({ runtime: "io.containerd.runc.v2" });
    const session = await runner.openSession(createSessionId());
    const child = await session.start({ argv: ["cat"], env: {}, projections: [] }, { directory: place.workspace });

    const docker = await testEngine();
    const filters = { label: [`dev.budgie.session=${session.id}`, "dev.budgie.role=turn"] };
    const [turn] = await docker.listContainers({ filters });
    const { HostConfig } = await docker.getContainer(turn?.Id ?? "").inspect();

    expect(HostConfig.Runtime).toBe("io.containerd.runc.v2");
    await child.stop("cancelled");
  });

  it("is the engine's default if none was requested", async () => {
    const { runner } = await place.createRunner();
    const session = await runner.openSession(createSessionId());

    const { stdout } = await run(session, place.workspace, "echo ran");

    expect(stdout).toBe("ran\n");
  });

  it("is refused before anything is created if the engine lacks it", async () => {
    const { Runtimes } = (await (await testEngine()).info()) as {
      readonly Runtimes: Readonly<Record<string, unknown>>;
    };

    const failure = await place.createRunner({ runtime: "nosuch" }).then(
      () => undefined,
      (error: Error) => error,
    );

    expect(failure).toMatchObject({ code: "RUNNER_UNAVAILABLE" });
    for (const name of Object.keys(Runtimes)) expect(failure?.message).toContain(`"${name}"`);
  });
});
