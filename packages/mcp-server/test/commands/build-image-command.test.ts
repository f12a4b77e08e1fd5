import { describe, expect, it } from "vitest";
import { createFakeEngine } from "../../../runner-docker/test/helpers/fake-engine.ts";
import { createBudgieUser } from "../helpers/start-budgie.ts";

describe("budgie build-image", () => {
  it("fails with exit code 1 if the engine does not build the image, and says why in one line", async () => {
    await using user = await createBudgieUser();
    const refusal = { status: 400, body: { message: "unknown instruction:\u001b[2J NONSENSE" } };
    await using engine = await createFakeEngine({
      "GET /version": { ApiVersion: "1.41" },
      "GET /info": {},
      "POST /build": [refusal],
    });

    const finished = await user.command(["build-image"], engine.hostEnv);

    expect(finished).toMatchObject({ exitCode: 1, stdout: "" });
    expect(finished.stderr).toMatch(
      /^budgie: The sandbox image was not built: .*unknown instruction:\S+ NONSENSE\s*\n$/,
    );
    expect(finished.stderr).not.toContain("\u001b");
  });
});
