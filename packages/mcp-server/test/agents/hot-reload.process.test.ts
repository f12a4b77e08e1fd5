import { mkdirSync, renameSync, symlinkSync, truncateSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { createReloadingBudgie, toAgent } from "./reloading-budgie.ts";
import { startHttpBudgie } from "../mcp/http/start-http-budgie.ts";
import { budgiePath, createBudgieUser, toText, waitFor } from "../../../cli/test/helpers/start-budgie.ts";

describe("hot reload", () => {
  it("notifies once of an added, a changed and a removed agent", async () => {
    await using at = await createReloadingBudgie();
    const { host } = at.user;

    at.write("poet.json", toAgent("poet"));
    await at.toldMore(0);
    expect(await at.list()).toContain("poet");
    expect(await at.describe("poet")).toContain("About poet");

    at.write("poet.json", toAgent("poet", "Writes poems"));
    await at.toldMore(1);
    expect(await at.describe("poet")).toContain("Writes poems");
    expect(toText(await at.budgie.ask("poet", { prompt: "Sing." }))).toBe("You asked: Sing.");

    unlinkSync(join(host.agentsDir, "poet.json"));
    await at.toldMore(2);
    expect(await at.list()).not.toContain("poet");

    await at.quiet();
    expect(at.told()).toBe(3);
    expect(at.warnings("The tools changed")).toEqual([
      'budgie: The tools changed: added "kiro-subagents.poet".',
      'budgie: The tools changed: changed "kiro-subagents.poet".',
      'budgie: The tools changed: removed "kiro-subagents.poet".',
    ]);
  });

  it("offers a Markdown agent in a folder as soon as it is written, and its changes", async () => {
    await using at = await createReloadingBudgie();
    mkdirSync(join(at.user.host.agentsDir, "team"));

    at.write("team/poet.md", "---\ndescription: 'sub-agent: Writes poems'\n---\nYou write.");
    await at.toldMore(0);
    expect(await at.describe("team-poet")).toContain("Writes poems");

    at.write("team/poet.md", "---\ndescription: 'sub-agent: Writes prose'\n---\nYou write.");
    await at.toldMore(1);
    expect(await at.describe("team-poet")).toContain("Writes prose");

    at.write("team/poet.md", "---\ndescription: [\n---\nYou write.");
    expect(await at.budgie.ask("team-poet", { prompt: "Sing." })).toMatchObject({ isError: true });
    expect(await at.describe("team-poet")).toContain("Writes prose");
  });

  it("refreshes the list of a client that listens for changes", async () => {
    await using user = await createBudgieUser();
    const lists: (readonly string[])[] = [];
    const onChanged = (_error: unknown, tools: readonly { readonly name: string }[] | null): void =>
      void lists.push((tools ?? []).map(({ name }) => name));
    const client = new Client({ name: "test", version: "1.0.0" }, { listChanged: { tools: { onChanged } } });
    const env = { HOME: user.host.home };
    await client.connect(new StdioClientTransport({ command: budgiePath, env, stderr: "ignore" }));

    writeFileSync(join(user.host.agentsDir, "poet.json"), JSON.stringify(toAgent("poet")));
    const tools = await waitFor(() => lists[0]);
    await client.close();

    expect(tools).toContain("kiro-subagents.poet");
  });

  it("notifies once of many changes together, and twice of two separate ones", async () => {
    await using at = await createReloadingBudgie();
    const { agentsDir } = at.user.host;

    for (const name of ["a", "b", "c", "d", "e"]) {
      at.write(`${name}.json`, "");
      at.write(`${name}.json`, toAgent(name));
    }
    at.write("new-reader", toAgent("reader", "Reads no more"));
    renameSync(join(agentsDir, "new-reader"), join(agentsDir, "reader.json"));
    truncateSync(join(agentsDir, "shell-worker.json"));
    at.write("shell-worker.json", toAgent("shell-worker", "Works no more"));
    await at.toldMore(0);
    await at.quiet();
    expect(at.told()).toBe(1);
    expect(await at.list()).toEqual(expect.arrayContaining(["a", "b", "c", "d", "e"]));
    expect(await at.describe("reader")).toContain("Reads no more");

    at.write("f.json", toAgent("f"));
    await at.toldMore(1);
    at.write("g.json", toAgent("g"));
    await at.toldMore(2);
    expect(at.told()).toBe(3);
    expect(at.warnings("Skipped")).toEqual([]);
  });

  it("does not notify of changes that cancel each other out", async () => {
    await using at = await createReloadingBudgie();

    at.write("reader.json", toAgent("reader", "Reads no more"));
    at.write("poet.json", toAgent("poet"));
    at.write("reader.json", { ...toAgent("reader", "Reads, and changes nothing"), allowedTools: ["fs_read"] });
    unlinkSync(join(at.user.host.agentsDir, "poet.json"));
    await at.quiet();
    expect(at.told()).toBe(0);

    at.write("poet.json", toAgent("poet"));
    await at.toldMore(0);
    expect(at.told()).toBe(1);
  });

  it("uses the model of a changed prompt file in the next turn, and notifies only if the tools differ", async () => {
    await using at = await createReloadingBudgie();
    const profile = "description: Reviews\nmodel: ";
    at.writePrompt("code-reviewer", `---\n${profile}m1\n---\nYou review.\n`);
    await at.toldMore(0);

    at.writePrompt("code-reviewer", `---\n${profile}m2\n---\nYou review well.\n`);
    await at.budgie.ask("code-reviewer", { prompt: "Review." });
    await at.quiet();

    expect(at.user.kiroCalls()[0]?.argv).toEqual(expect.arrayContaining(["--model", "m2"]));
    expect(at.told()).toBe(1);
    at.writePrompt("code-reviewer", `---\n${profile}m2\nuse_when: Always\n---\nYou review well.\n`);
    await at.toldMore(1);
  });

  it("notices changes behind symlinks, and a symlink that is pointed elsewhere", async () => {
    await using at = await createReloadingBudgie({
      prepare: ({ host }) => {
        const dotfiles = join(host.home, "dotfiles");
        mkdirSync(join(dotfiles, "files"), { recursive: true });
        renameSync(host.agentsDir, join(dotfiles, "agents"));
        symlinkSync(join(dotfiles, "agents"), host.agentsDir);
        writeFileSync(join(dotfiles, "files", "poet"), JSON.stringify(toAgent("poet")));
        symlinkSync("../files/poet", join(dotfiles, "agents", "poet.json"));
      },
    });
    const dotfiles = join(at.user.host.home, "dotfiles");

    writeFileSync(join(dotfiles, "files", "poet"), JSON.stringify(toAgent("poet", "Behind a link")));
    await at.toldMore(0);
    expect(await at.describe("poet")).toContain("Behind a link");

    writeFileSync(join(dotfiles, "agents", "reader.json"), JSON.stringify(toAgent("reader", "Behind the folder's")));
    await at.toldMore(1);
    expect(await at.describe("reader")).toContain("Behind the folder's");

    mkdirSync(join(dotfiles, "other"));
    writeFileSync(join(dotfiles, "other", "singer.json"), JSON.stringify(toAgent("singer")));
    symlinkSync(join(dotfiles, "other"), join(dotfiles, "turned"));
    renameSync(join(dotfiles, "turned"), at.user.host.agentsDir);
    await at.toldMore(2);
    expect(await at.list()).toEqual(["health-check", "singer"]);
  });

  it("lists the current agents in the health check", async () => {
    await using at = await createReloadingBudgie();

    at.write("poet.json", toAgent("poet"));
    const health = await at.budgie.client.callTool({ name: "kiro-subagents.health-check", arguments: {} });

    expect(health.structuredContent).toMatchObject({
      agents: expect.arrayContaining([expect.objectContaining({ agent: "poet" })]) as unknown,
    });
  });

  it("notifies every client over HTTP", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user);
    const clients = await Promise.all([budgie.connect(), budgie.connect()]);
    const told = [0, 0];
    for (const [index, { client }] of clients.entries()) {
      client.setNotificationHandler(
        ToolListChangedNotificationSchema,
        () => void (told[index] = (told[index] ?? 0) + 1),
      );
    }

    writeFileSync(join(user.host.agentsDir, "poet.json"), JSON.stringify(toAgent("poet")));
    await waitFor(() => told.every((count) => count > 0));

    const lists = await Promise.all(clients.map(({ client }) => client.listTools()));
    expect(lists.map(({ tools }) => tools.some(({ name }) => name === "kiro-subagents.poet"))).toEqual([true, true]);
    expect(told).toEqual([1, 1]);
  });
});
