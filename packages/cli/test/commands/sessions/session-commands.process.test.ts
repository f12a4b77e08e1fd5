import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { begin, describeSessionCommands } from "./describe-session-commands.ts";
import { createBudgieUser } from "../../helpers/start-budgie.ts";

describeSessionCommands({
  sandbox: false,
  leftovers: async ({ sessionsDir }) => readdirSync(sessionsDir),
  cleanUp: async () => undefined,
});

// Only root may mount, and nothing else prevents root from removing a folder.
it.skipIf(process.getuid?.() !== 0)(
  "sessions rm names a folder that it cannot remove, and removes the others",
  async () => {
    await using user = await createBudgieUser();
    const budgie = await user.start({ args: ["--keep-sessions"] });
    const [held, free] = [await begin(budgie), await begin(budgie)];
    budgie.child.stdin?.end();
    await budgie.ended;
    const folder = join(user.sessionsDir, held);
    const mounted = spawnSync("mount", ["-t", "tmpfs", "tmpfs", folder]).status;
    try {
      const { exitCode, stdout } = await user.command(["sessions", "rm", held, free], {
        DOCKER_HOST: "unix:///nowhere",
      });

      expect({ mounted, exitCode }).toEqual({ mounted: 0, exitCode: 1 });
      expect(stdout).toMatch(new RegExp(`^could not remove ${held}: EBUSY.*\nremoved ${free}\n$`));
      expect(readdirSync(user.sessionsDir)).toEqual([held]);
    } finally {
      spawnSync("umount", ["--lazy", folder]);
    }
  },
);

it("an export prints no name that a terminal would obey", async () => {
  await using user = await createBudgieUser();
  const budgie = await user.start({ args: ["--keep-sessions"] });
  const id = await begin(budgie);
  spawnSync("mkfifo", [join(user.sessionsDir, id, "pi\u001B]0;pe\u0007")]);

  const { exitCode, stderr } = await user.command(["sessions", "export", id, join(user.host.home, "home.tar")]);

  const line = expect.stringMatching(/^budgie: Left out: ".*\/pi\?\]0;pe\?": .*\n$/);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: line });
});
