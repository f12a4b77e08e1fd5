import { describe, expect, it } from "vitest";
import { createBudgieUser } from "./helpers/start-budgie.ts";

const sandbox = true;

describe("a sandbox's way out", () => {
  it("is the engine's own network with --egress bridge, which is said to be unsafe", async () => {
    await using user = await createBudgieUser();
    const { ask, stderr } = await user.start({ sandbox, args: ["--egress", "bridge"] });

    const { structuredContent } = await ask("shell-worker", { prompt: "[[say: Hi.]]" });

    expect(stderr()).toContain("budgie: --egress bridge is unsafe: ");
    expect(structuredContent).not.toHaveProperty("egress");
  });
});
