import { describe, expect, it } from "vitest";
import { removeContainer } from "../../src/engine/remove-container.ts";
import { createFakeEngine, type Answers } from "../helpers/fake-engine.ts";

const NO_CONTENT = { status: 204, body: "" };
// The wording of Podman 4.3.
const JUST_ENDED = refusal(
  "cannot remove container c1 as it could not be stopped: sending SIGKILL to container c1: container state improper: stopped",
);

describe("removeContainer", () => {
  it("removes a container that ends while Podman is about to kill it", async () => {
    await using engine = await createFakeEngine({ "DELETE /containers/c1": [JUST_ENDED, JUST_ENDED, NO_CONTENT] });

    await removeContainer(engine.docker.getContainer("c1"));

    expect(engine.requests.filter((request) => request.startsWith("DELETE "))).toHaveLength(3);
  });

  it.each<[string, Answers]>([
    ["if that does not end", { "DELETE /containers/c1": [JUST_ENDED] }],
    ["on any other error", { "DELETE /containers/c1": [refusal("disk on fire")] }],
    ["if it is still there", { "DELETE /containers/c1": [NO_CONTENT], "GET /containers/c1/json": { Id: "c1" } }],
  ])("rejects %s", async (_, answers) => {
    await using engine = await createFakeEngine(answers);

    await expect(removeContainer(engine.docker.getContainer("c1"))).rejects.toThrow(
      /could not be stopped|disk on fire|still has it/,
    );
  });

  it("accepts that it is already gone", async () => {
    await using engine = await createFakeEngine({});

    await removeContainer(engine.docker.getContainer("c1"));
  });
});

function refusal(message: string) {
  return { status: 500, body: { message } };
}
