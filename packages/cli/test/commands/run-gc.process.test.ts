import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isAlive } from "@budgie/testkit";
import { createBudgieUser, waitFor, type Budgie, type BudgieUser } from "../helpers/start-budgie.ts";

const NO_ENGINE = { DOCKER_HOST: "unix:///nowhere/docker.sock" };

/** Kills a budgie with SIGKILL during a turn. */
async function abandon(user: BudgieUser): Promise<{ readonly agent: number; readonly folder: string }> {
  const before = user.kiroCalls().length;
  const budgie = await user.start();
  budgie.ask("code-reviewer", { prompt: "[[sleep 60000]]" }).catch(() => undefined);
  const { cwd, pid } = await waitFor(() => user.kiroCalls()[before]);
  budgie.child.kill("SIGKILL");
  await once(budgie.child, "exit");
  return { agent: pid, folder: cwd };
}

async function startSession(user: BudgieUser): Promise<{ readonly budgie: Budgie; readonly folder: string }> {
  const budgie = await user.start();
  const { structuredContent } = await budgie.ask("code-reviewer", { prompt: "Hello" });
  return { budgie, folder: join(user.sessionsDir, String(structuredContent?.["sessionId"])) };
}

describe("budgie gc", () => {
  it("removes the garbage of a killed budgie, and nothing of a live one", async () => {
    await using user = await createBudgieUser();
    const live = await startSession(user);
    // Otherwise it would collect the garbage itself.
    live.budgie.child.kill("SIGSTOP");
    const dead = await abandon(user);

    const { exitCode, stderr, stdout } = await user.command(["gc"], NO_ENGINE);
    live.budgie.child.kill("SIGCONT");

    expect(exitCode).toBe(0);
    expect(stdout).toBe(
      `removed folder ${dead.folder}\nkept folder ${live.folder}: its owner lives\nRemoved 1 folder; kept 1.\n`,
    );
    expect(stderr).toMatch(
      /^budgie: No container engine is reachable, so only local session folders were looked at\. .*\n$/,
    );
    expect(isAlive(dead.agent)).toBe(false);
    expect(readdirSync(user.sessionsDir).map((name) => join(user.sessionsDir, name))).toEqual([live.folder]);
    expect((await live.budgie.ask("code-reviewer", { prompt: "Hello" })).isError).toBe(false);
  });

  it("removes nothing in a dry run", async () => {
    await using user = await createBudgieUser();
    const { folder } = await abandon(user);

    const { stdout } = await user.command(["gc", "--dry-run"], NO_ENGINE);

    expect(stdout).toBe(`would remove folder ${folder}\nWould remove 1 folder.\n`);
    expect(readdirSync(user.sessionsDir)).toHaveLength(1);
    await user.command(["gc"], NO_ENGINE);
  });

  it("escapes names for a terminal", async () => {
    await using user = await createBudgieUser();
    const { folder } = await abandon(user);
    const records = join(user.host.home, ".local/state/budgie/local-sessions");
    const [name = ""] = readdirSync(records);
    const record = readFileSync(join(records, name), "utf8");
    writeFileSync(join(records, name), record.replace(user.sessionsDir, "/tmp/\\u001b[2J\\u009b31m"));

    const [plain, json] = [
      await user.command(["gc", "--dry-run"], NO_ENGINE),
      await user.command(["gc", "--dry-run", "--json"], NO_ENGINE),
    ];
    writeFileSync(join(records, name), record);
    await user.command(["gc"], NO_ENGINE);

    expect(plain.stdout).toMatch(/^would remove folder \/tmp\/\?\[2J\?31m\//);
    expect(json.stdout.trim()).not.toMatch(/\p{C}/u);
    expect(existsSync(folder)).toBe(false);
  });

  it("keeps garbage younger than the given age", async () => {
    await using user = await createBudgieUser();
    const { folder } = await abandon(user);

    const { stdout } = await user.command(["gc", "--older-than", "24h"], NO_ENGINE);

    expect(stdout).toBe(`kept folder ${folder}: it is younger than asked for\nRemoved nothing; kept 1.\n`);
    await user.command(["gc"], NO_ENGINE);
  });

  it("prints its report as JSON", async () => {
    await using user = await createBudgieUser();
    const { folder } = await abandon(user);

    const { stdout } = await user.command(["gc", "--json"], NO_ENGINE);

    const session = folder.slice(user.sessionsDir.length + 1);
    expect(JSON.parse(stdout)).toEqual({
      dryRun: false,
      removed: [{ kind: "folder", name: folder, session }],
      kept: [],
      failed: [],
      legacy: [],
    });
  });

  it("says so if there is nothing to do", async () => {
    await using user = await createBudgieUser();

    const { exitCode, stdout } = await user.command(["gc"], NO_ENGINE);

    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "Removed nothing.\n" });
  });
});
