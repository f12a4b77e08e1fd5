import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startHttpBudgie } from "../mcp/http/start-http-budgie.ts";
import { createBudgieUser, toText, waitFor } from "../../../cli/test/helpers/start-budgie.ts";

const KEEP = { prompt: "Keep the word token-parakeet." };
const RECALL = { prompt: "[[recall]]" };
const STICKY = ["--sticky-sessions"];

describe("--sticky-sessions", () => {
  it("lets a call without a session id resume the last one for this directory, until it says new", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve({ args: STICKY });
    const [other, link] = [join(user.host.home, "other"), join(user.host.home, "link")];
    mkdirSync(other);
    symlinkSync(user.workspace, link);

    await ask("code-reviewer", KEEP);

    expect(toText(await ask("code-reviewer", { ...RECALL, directory: link }))).toBe("token-parakeet");
    expect(toText(await ask("code-reviewer", { ...RECALL, sessionId: "" }))).toBe("token-parakeet");
    expect(toText(await ask("code-reviewer", { ...RECALL, directory: other }))).toBe("I remember nothing.");
    expect(toText(await ask("shell-worker", RECALL))).toBe("I remember nothing.");
    expect(toText(await ask("code-reviewer", { ...RECALL, sessionId: "new" }))).toBe("I remember nothing.");
    expect(toText(await ask("code-reviewer", RECALL))).not.toBe("token-parakeet");
  });

  it("is off by default, and then new is no valid session id", async () => {
    await using user = await createBudgieUser();
    const { ask, client } = await user.serve();
    const { tools } = await client.listTools();

    await ask("code-reviewer", KEEP);

    expect(toText(await ask("code-reviewer", RECALL))).toBe("I remember nothing.");
    expect((await ask("code-reviewer", { ...RECALL, sessionId: "new" })).structuredContent).toMatchObject({
      code: "INPUT_INVALID",
    });
    expect(JSON.stringify(tools)).not.toContain("your last conversation");
  });

  it.each(["agents", "router"])("is explained in the argument's description, with --tools %s", async (mode) => {
    await using user = await createBudgieUser();
    const { client } = await user.serve({ args: [...STICKY, "--tools", mode] });
    const { tools } = await client.listTools();

    expect(JSON.stringify(tools)).toContain("your last conversation with this agent about the directory");
    expect(JSON.stringify(tools)).not.toContain("Leave it out to begin a new one.");
  });

  it("begins a new session, with the prompt, in place of an expired one", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve({ args: [...STICKY, "--session-ttl", "1s", "--sweep-every", "1s"] });
    const first = await ask("code-reviewer", KEEP);
    const sessionId = first.structuredContent?.["sessionId"];
    await waitFor(() => readdirSync(user.sessionsDir).length === 0);

    const second = await ask("code-reviewer", { prompt: "Anew." });

    expect(toText(second)).toBe("You asked: Anew.");
    expect(second.structuredContent?.["sessionId"]).not.toBe(sessionId);
  });

  it("never resumes another client's session, over HTTP", async () => {
    await using user = await createBudgieUser();
    await using budgie = await startHttpBudgie(user, { args: STICKY });
    const [one, two] = [await budgie.connect(), await budgie.connect()];
    const directory = user.workspace;

    await one.ask("code-reviewer", { ...KEEP, directory });

    expect(toText(await two.ask("code-reviewer", { ...RECALL, directory }))).toBe("I remember nothing.");
    expect(toText(await one.ask("code-reviewer", { ...RECALL, directory }))).toBe("token-parakeet");
  });
});
