import { createSessionId } from "@budgie/core";
import { expect, it, onTestFinished } from "vitest";
import { createContainer } from "../../src/engine/create-container.ts";
import { connectEngine } from "../../src/engine/engine.ts";
import { toLabels } from "../../src/engine/to-labels.ts";
import { BASE_IMAGE } from "../helpers/docker-place.ts";

const engine = await connectEngine(process.env, process.env["HOME"] ?? "/root");
const owner = { instance: "own", host: "here", lock: "/nowhere/lock" };

it("an earlier container of this budgie is replaced by one of the same name, even if it runs", async () => {
  const { create, name } = toNamed();
  const first = await create("own");
  await first.start();

  const second = await create("own");

  expect((await engine.docker.getContainer(name).inspect()).Id).toBe(second.id);
  await expect(first.inspect()).rejects.toMatchObject({ statusCode: 404 });
});

it("another budgie's container of the same session stays, and the error names it", async () => {
  const { create, name } = toNamed();
  const first = await create("other");

  await expect(create("own")).rejects.toMatchObject({
    code: "RUNNER_UNAVAILABLE",
    message: expect.stringContaining(`"docker rm -f ${name}"`),
  });

  expect((await engine.docker.getContainer(name).inspect()).Id).toBe(first.id);
});

function toNamed() {
  const session = createSessionId();
  const name = `budgie-test-${session}`;
  onTestFinished(() => engine.docker.getContainer(name).remove({ force: true }));
  return {
    name,
    create: (instance: string) =>
      createContainer(engine, name, {
        Image: BASE_IMAGE,
        Cmd: ["sleep", "60"],
        Labels: toLabels({ ...owner, instance }, session, "session"),
      }),
  };
}
