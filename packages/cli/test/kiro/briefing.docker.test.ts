import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { buildImage } from "../../../runner-docker/test/image/build-image.ts";
import { createBudgieUser, TEST_IMAGE, toText } from "../helpers/start-budgie.ts";

it("budgie --sandbox tells the agent and its caller what it can do, with the tools that the image names", async () => {
  await using user = await createBudgieUser();
  await using image = await buildImage(`FROM ${TEST_IMAGE}\nLABEL dev.budgie.tools="git node@20 <hostile>"\n`);
  const config = join(user.host.home, "quiet.json");
  writeFileSync(config, JSON.stringify({ sandboxBriefing: false }));
  const args = ["--sandbox-image", image.name, "--egress", "none", "--agent-timeout", "5m", "--verbose"];
  const ask = async (more: readonly string[]): Promise<readonly string[]> => {
    const budgie = await user.serve({ sandbox: true, args: [...args, ...more] });
    const { structuredContent } = await budgie.ask("shell-worker", { prompt: "[[say: Hello.]]" });
    const { sessionId } = structuredContent ?? {};
    const prompt = '[[run: grep -hi "run in a sandbox" ~/chat-*.txt || echo nothing]]';
    const told = toText(await budgie.ask("shell-worker", { sessionId, prompt }));
    const { tools } = await budgie.client.listTools();
    await budgie.client.close();
    return [told, tools.find(({ name }) => name.endsWith("shell-worker"))?.description ?? ""];
  };

  const [told, description] = await ask([]);
  const [untold] = await ask(["--config", config]);

  const can =
    "may change the directory, ha(s|ve) no network, and ha(s|ve) 5m\\. Its image says that it has git, node@20\\.";
  expect(told).toMatch(new RegExp(`^You run in a sandbox: you ${can} Say `));
  expect(description).toMatch(new RegExp(`It runs in a sandbox: it ${can}`));
  expect(untold).toBe("nothing");
});
