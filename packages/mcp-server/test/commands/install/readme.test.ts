import { existsSync, readFileSync, realpathSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CLIENT_NAMES, CLIENTS } from "../../../src/commands/install/clients.ts";
import { toFile } from "./client-settings.ts";
import { createInstallUser } from "./create-install-user.ts";
import { budgiePath } from "../../helpers/start-budgie.ts";

const README = readFileSync(new URL("../../../../../README.md", import.meta.url), "utf8");

describe("the README", () => {
  it.each(CLIENT_NAMES)("shows for %s what install writes", async (client) => {
    using user = createInstallUser();
    await user.run(["install", client]);
    const { format, title } = CLIENTS[client];

    const file = toFile(user, client, "user");
    const block = user
      .read(file)
      .replace(budgiePath, "/path/to/budgie/packages/mcp-server/bin/budgie.js")
      .replace(/(?<=")\/[^"]+(?=")/g, (path) => (isThisNode(path) ? "/path/to/node" : path));

    const summary = `<summary>${title}: <code>${file.replace(user.home, "~")}</code></summary>`;
    expect(README).toContain(`${summary}\n\n\`\`\`${format}\n${block}\`\`\`\n\n</details>\n`);
  });
});

function isThisNode(path: string): boolean {
  return existsSync(path) && realpathSync(path) === realpathSync(process.execPath);
}
