import { expect, it } from "vitest";
import { createInstallUser } from "../install/create-install-user.ts";

it("budgie shell on a cluster is refused, and names the command that works there", async () => {
  using user = createInstallUser();

  await expect(user.run(["shell", "coder", "--runner", "kubernetes"])).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringMatching(/^On a cluster "budgie shell" has no terminal\. .*"budgie exec AGENT -- COMMAND"/),
  });
  await expect(user.run(["shell", "coder"])).rejects.toThrow(/needs a terminal/);
});
