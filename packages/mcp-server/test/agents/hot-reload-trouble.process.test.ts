import { mkdirSync, renameSync, rmSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createReloadingBudgie, toAgent } from "./reloading-budgie.ts";
import { toText, waitFor } from "../../../cli/test/helpers/start-budgie.ts";

describe("hot reload of broken or removed files", () => {
  it("keeps an agent whose file is broken, reports it once, and reloads it when it is fixed", async () => {
    await using at = await createReloadingBudgie();

    at.write("reader.json", "{");
    await waitFor(() => at.warnings("reader.json").length > 0);
    at.write("code-reviewer.json", "{");
    await waitFor(() => at.warnings("code-reviewer.json").length > 0);
    at.write("reader.json", "{");
    await at.quiet();
    expect(await at.list()).toEqual(["code-reviewer", "health-check", "reader", "shell-worker"]);
    expect(at.told()).toBe(0);
    expect(at.warnings("reader.json").at(-1)).toMatch(
      /reader\.json" cannot be used now: .* Its agent stays in use as it was\.$/,
    );
    expect(at.warnings('/reader.json" cannot be used')).toHaveLength(1);

    at.write("reader.json", toAgent("reader", "Reads again"));
    await at.toldMore(0);
    expect(await at.describe("reader")).toContain("Reads again");

    at.write("reader.json", "{");
    await waitFor(() => at.warnings('/reader.json" cannot be used').length > 1);
  });

  it("loads a file that was broken at the start, and a folder that was missing", async () => {
    await using at = await createReloadingBudgie({
      prepare: ({ host }) => {
        rmSync(host.agentsDir, { recursive: true });
        rmSync(host.promptsDir, { recursive: true });
      },
    });
    expect(await at.list()).toEqual(["health-check"]);
    expect(at.warnings("There is no agents directory")).toHaveLength(1);

    mkdirSync(at.user.host.agentsDir);
    at.write("poet.json", "{");
    await waitFor(() => at.warnings("Skipped the agent file").length > 0);
    at.write("poet.json", toAgent("poet"));
    await at.toldMore(0);
    expect(await at.list()).toEqual(["health-check", "poet"]);

    mkdirSync(at.user.host.promptsDir);
    at.writePrompt("poet", "---\ndescription: Writes poems\n---\n");
    await at.toldMore(1);
    expect(await at.describe("poet")).toContain("Writes poems");
  });

  it("keeps the agents while their folder is missing", async () => {
    await using at = await createReloadingBudgie();
    const { agentsDir } = at.user.host;

    renameSync(agentsDir, `${agentsDir}.old`);
    await waitFor(() => at.warnings("There is no agents directory").length > 0);
    expect(await at.list()).toHaveLength(4);
    mkdirSync(agentsDir);
    at.write("poet.json", toAgent("poet"));
    await at.toldMore(0);

    expect(await at.list()).toEqual(["health-check", "poet"]);
    expect(at.warnings("There is no agents directory")).toHaveLength(1);
    at.write("poet.json", toAgent("poet", "Still seen in the new folder"));
    await at.toldMore(1);
  });

  it("keeps the last valid frontmatter", async () => {
    await using at = await createReloadingBudgie();
    const before = await at.describe("code-reviewer");

    at.writePrompt("code-reviewer", "---\nmodel: [\n---\n");
    await waitFor(() => at.warnings("code-reviewer.md").length > 0);
    await at.quiet();

    expect(await at.describe("code-reviewer")).toBe(before);
    expect(at.warnings("code-reviewer.md")).toEqual([expect.stringContaining("Its earlier content stays in use.")]);
    unlinkSync(join(at.user.host.promptsDir, "code-reviewer.md"));
    await at.toldMore(0);
    expect(await at.describe("code-reviewer")).toContain("Reviews code for bugs and security");
    expect(await at.describe("code-reviewer")).not.toBe(before);
  });

  it("keeps the others' tools when a name is taken twice, and reports it", async () => {
    await using at = await createReloadingBudgie();

    at.write("a-copy.json", toAgent("reader", "A copy"));
    at.write("poet.json", toAgent("poet"));
    await at.toldMore(0);
    await at.quiet();

    expect(await at.describe("reader")).not.toContain("A copy");
    expect(await at.list()).toContain("poet");
    expect(at.warnings("a-copy.json")).toEqual([expect.stringMatching(/would both be the tool .* is left out\.$/)]);
    at.write("a-copy.json", toAgent("second-reader"));
    await at.toldMore(1);
    expect(await at.list()).toEqual(expect.arrayContaining(["reader", "second-reader"]));
  });

  it("keeps the sessions of an agent that is missing for a while, or broken", async () => {
    await using at = await createReloadingBudgie();
    const { ask } = at.budgie;
    const file = join(at.user.host.agentsDir, "reader.json");
    const first = await ask("reader", { prompt: "Keep the word token-parakeet." });
    const sessionId = first.structuredContent?.["sessionId"];

    renameSync(file, `${file}.away`);
    await at.toldMore(0);
    await expect(ask("reader", { prompt: "[[recall]]", sessionId })).rejects.toThrow('no tool "kiro-subagents.reader"');
    at.write("reader.json", "{");
    await waitFor(() => at.warnings("Skipped the agent file").length > 0);
    renameSync(`${file}.away`, file);
    await at.toldMore(1);
    at.write("reader.json", "{");
    const broken = await ask("reader", { prompt: "[[recall]]", sessionId });
    expect(broken.structuredContent).toMatchObject({ code: "AGENT_NOT_FOUND", sessionId });
    at.write("reader.json", toAgent("reader"));

    expect(toText(await ask("reader", { prompt: "[[recall]]", sessionId }))).toBe("token-parakeet");
  });

  it("warns of settings of a removed agent, and continues", async () => {
    await using at = await createReloadingBudgie({ args: ["--max-turns-per-minute", "reader=5"] });

    unlinkSync(join(at.user.host.agentsDir, "reader.json"));
    await at.toldMore(0);

    expect(at.warnings('The agent "reader" is gone')).toHaveLength(1);
    expect(toText(await at.budgie.ask("code-reviewer", { prompt: "Hi." }))).toBe("You asked: Hi.");
  });
});
