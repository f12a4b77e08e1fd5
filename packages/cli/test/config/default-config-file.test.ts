import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createInstallUser } from "../commands/install/create-install-user.ts";

it.each([
  ["dangling", "gone.json", "ENOENT"],
  ["circular", "config.json", "ELOOP"],
])(
  "A %s link as the default configuration file is an error, and not no file: it may ask for a sandbox",
  async (_what, target, code) => {
    using user = createInstallUser();
    const folder = join(user.home, ".config/budgie");
    mkdirSync(folder, { recursive: true });
    symlinkSync(join(folder, target), join(folder, "config.json"));

    await expect(user.run(["config", "show"])).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(`Cannot read the configuration file "${join(folder, "config.json")}": ${code}`),
    });
  },
);
