import { existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { createBudgieUser, type BudgieUser } from "../../helpers/start-budgie.ts";
import { json, makeRun, remember, toStateDir } from "./runs-place.ts";

function edit(user: BudgieUser, sql: string): void {
  const database = new Database(join(toStateDir(user), "runs.sqlite3"));
  database.exec(sql);
  database.close();
}

const HEAD = /^head: (\d+:[0-9a-f]{64})$/m;

describe("budgie runs verify", () => {
  it("says how much is as recorded, what nothing was compared with, and the head", async () => {
    await using user = await createBudgieUser();
    const runs = [makeRun(), makeRun(), makeRun(), makeRun()];
    await remember(user, runs);
    await json(user, "rm", runs[1]?.id ?? "");

    const { exitCode, stderr, stdout } = await user.command(["runs", "verify"]);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout.split("\n")).toEqual([
      "3 turns are as recorded.",
      'not verified: 1 removed by the log\'s limits or "budgie runs rm"',
      expect.stringMatching(HEAD),
      "",
    ]);
    expect(await json(user, "verify")).toMatchObject({ turns: 3, removed: 1, head: { position: 4 } });
  });

  it("names the first entry that deviates, with exit code 1", async () => {
    await using user = await createBudgieUser();
    const run = makeRun();
    await remember(user, [makeRun(), run, makeRun(), makeRun()]);
    edit(user, "UPDATE runs SET outcome = 'BUG' WHERE entry IN (2, 4)");

    const { exitCode, stdout } = await user.command(["runs", "verify"]);
    const printed = await user.command(["runs", "verify", "--json"]);

    expect(exitCode).toBe(1);
    expect(stdout).toMatch(
      `The record is broken at entry 2 (turn ${run.id}): the turn, or the change set, was changed.\n`,
    );
    expect(printed.exitCode).toBe(1);
    expect(JSON.parse(printed.stdout)).toMatchObject({ fault: { kind: "changed", entry: 2, run: run.id } });
  });

  it("escapes the id of a turn that someone wrote", async () => {
    await using user = await createBudgieUser();
    await remember(user, [makeRun()]);
    edit(user, "UPDATE record SET run = char(27) || '[2J' || char(10) || 'head: 1'");

    const { stdout } = await user.command(["runs", "verify"]);

    expect(stdout).toContain("entry 1 (turn ");
    expect(stdout.split("\n").filter((line) => line.startsWith("head: "))).toHaveLength(1);
    expect(stdout).not.toContain("\u001b");
  });

  it("compares with a head that was noted", async () => {
    await using user = await createBudgieUser();
    await remember(user, [makeRun(), makeRun()]);
    const [, noted = ""] = HEAD.exec((await user.command(["runs", "verify"])).stdout) ?? [];
    await remember(user, [makeRun()]);

    const same = await user.command(["runs", "verify", "--noted", noted]);
    const other = await user.command(["runs", "verify", "--noted", `2:${"0".repeat(64)}`]);
    const future = await user.command(["runs", "verify", "--noted", noted.replace("2:", "9:")]);
    await user.command(["runs", "rm", "--all"]);
    const removed = await user.command(["runs", "verify", "--noted", noted]);

    expect(same).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining("Entry 2 is the one that you noted.\n"),
    });
    expect(other).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining("it is not the one that you noted.\n"),
    });
    expect(future).toMatchObject({ exitCode: 1, stdout: expect.stringContaining("broken at entry 4: this entry and") });
    expect(removed).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("removed with its turn.") });
  });

  it("refuses a head of another form, and creates no file if there is no log", async () => {
    await using user = await createBudgieUser();

    expect(await user.command(["runs", "verify", "--noted", "12"])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("Expected --noted to be a head that"),
    });
    expect(await user.command(["runs", "verify"])).toMatchObject({
      exitCode: 0,
      stdout: "There is no turn in the run log yet.\n",
    });
    expect(existsSync(toStateDir(user))).toBe(false);
  });
});
