import { expect, it } from "vitest";
import { createInstallUser } from "../install/create-install-user.ts";

it.each(["docker", "kubernetes"])("budgie shell needs a terminal with the runner %s", async (runner) => {
  using user = createInstallUser();

  await expect(user.run(["shell", "coder", "--runner", runner])).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringMatching(/needs a terminal.*"budgie exec AGENT -- COMMAND"/),
  });
});
