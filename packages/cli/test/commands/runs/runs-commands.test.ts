import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createBudgieUser } from "../../helpers/start-budgie.ts";
import { json, makeRun, remember, toStateDir } from "./runs-place.ts";

describe("budgie runs ls", () => {
  it("lists the last turns as a table, the newest first", async () => {
    await using user = await createBudgieUser();
    const [got, missed] = [makeRun(), makeRun({ agent: "shell-worker" })];
    const failed = makeRun({ outcome: "RUNNER_UNAVAILABLE", answer: undefined, sessionId: undefined });
    await remember(user, [got, missed, failed], [got.id]);

    const { exitCode, stderr, stdout } = await user.command(["runs", "ls"]);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const [first, asked, second, kept] = [got.id, got.sessionId, missed.id, missed.sessionId].map((id) =>
      id?.slice(0, 8),
    );
    expect(stdout.split("\n")).toEqual([
      expect.stringMatching(/^RUN +STARTED +AGENT +OUTCOME +TOOK +ANSWER +SESSION$/),
      expect.stringMatching(`^${failed.id.slice(0, 8)}  \\d+ [sm] ago *  reader +RUNNER_UNAVAILABLE +15.3s$`),
      expect.stringMatching(
        `^${second}  \\d+ [sm] ago *  shell-worker  answered, not delivered  15.3s  12 bytes  ${kept}$`,
      ),
      expect.stringMatching(`^${first}  \\d+ [sm] ago *  reader +answered +15.3s  12 bytes  ${asked}$`),
      "",
    ]);
  });

  it("limits the list to a directory with those below it, and to a time", async () => {
    await using user = await createBudgieUser();
    const ago = (minutes: number): number => Date.now() - minutes * 60_000;
    const shop = join(user.host.home, "shop");
    mkdirSync(shop);
    symlinkSync(shop, join(user.host.home, "link"));
    const runs = [
      makeRun({ directory: shop, startedMs: ago(90) }),
      makeRun({ directory: join(shop, "api"), startedMs: ago(30) }),
      makeRun({ directory: `${shop}-old`, startedMs: ago(20) }),
      makeRun({ startedMs: ago(10) }),
    ];
    await remember(user, runs);
    const idsOf = async (...argv: string[]) =>
      ((await json(user, "ls", ...argv)) as readonly { readonly id: string }[]).map(({ id }) =>
        runs.findIndex((run) => run.id === id),
      );

    expect(await idsOf("--dir", shop)).toEqual([1, 0]);
    expect(await idsOf("--dir", join(user.host.home, "link"))).toEqual([1, 0]);
    expect(await idsOf("--dir", "/")).toEqual([2, 1, 0]);
    expect(await idsOf("--dir", join(shop, "api"))).toEqual([1]);
    expect(await idsOf("--since", "1h")).toEqual([3, 2, 1]);
    expect(await idsOf("--since", "1h", "--dir", shop)).toEqual([1]);
    const none = await user.command(["runs", "ls", "--dir", "/nowhere", "--since", "5m"]);
    expect(none.stdout).toBe('There is no turn in or below "/nowhere" of the last 5m in the run log yet.\n');
    expect((await user.command(["runs", "ls", "--since", "soon"])).stderr).toContain(
      "Expected --since to be a duration",
    );
  });

  it("limits the list to a number, an agent or a session", async () => {
    await using user = await createBudgieUser();
    const [first, second, third] = [makeRun(), makeRun({ agent: "shell-worker" }), makeRun()];
    await remember(user, [first, second, third]);

    expect(await json(user, "ls", "--last", "1")).toMatchObject([{ id: third.id }]);
    expect(await json(user, "ls", "--agent", "reader")).toMatchObject([{ id: third.id }, { id: first.id }]);
    expect(await json(user, "ls", "--session", second.sessionId?.slice(0, 8) ?? "")).toMatchObject([{ id: second.id }]);
  });

  it("prints everything but the answers as JSON", async () => {
    await using user = await createBudgieUser();
    const { answer: _, endedMs, startedMs, ...run } = makeRun();
    await remember(user, [{ ...run, answer: "All is well.", endedMs, startedMs }]);

    expect(await json(user, "ls")).toEqual([
      {
        ...JSON.parse(JSON.stringify(run)),
        answerBytes: 12,
        delivered: false,
        started: new Date(startedMs).toISOString(),
        ended: new Date(endedMs).toISOString(),
        durationMs: 15_300,
      },
    ]);
  });

  it("creates no file if there is no log", async () => {
    await using user = await createBudgieUser();

    expect(await user.command(["runs", "ls"])).toMatchObject({
      exitCode: 0,
      stdout: "There is no turn in the run log yet.\n",
    });
    expect((await user.command(["runs", "ls", "--agent", "Reader"])).stdout).toBe(
      'There is no turn of the agent "reader" in the run log yet.\n',
    );
    expect(await json(user, "ls")).toEqual([]);
    expect(await json(user, "rm", "--all")).toEqual({ removed: [] });
    expect(existsSync(toStateDir(user))).toBe(false);
  });
});

describe("budgie runs rm", () => {
  it("removes the named runs, those of an age, or all, with the answers", async () => {
    await using user = await createBudgieUser();
    const old = makeRun({ startedMs: Date.now() - 8 * 86_400_000 });
    // The clock was set back after this run.
    const ahead = makeRun({ startedMs: Date.now() + 2 * 86_400_000 });
    const runs = [old, makeRun(), makeRun(), ahead];
    await remember(user, runs);

    const named = await json(user, "rm", runs[1]?.id.slice(0, 12) ?? "", runs[1]?.id ?? "");
    const aged = await json(user, "rm", "--older-than", "7d");
    const all = await user.command(["runs", "rm", "--all"]);

    expect(named).toEqual({ removed: [runs[1]?.id] });
    expect(aged).toEqual({ removed: [old.id] });
    expect(all).toMatchObject({ exitCode: 0, stdout: "Removed 2 runs.\n" });
    expect(await json(user, "ls")).toEqual([]);
    expect((await user.command(["runs", "show", old.id])).exitCode).toBe(1);
  });

  it("removes nothing unless all named runs exist, and one way was chosen", async () => {
    await using user = await createBudgieUser();
    const run = makeRun();
    await remember(user, [run]);
    const argvs = [["rm"], ["rm", run.id, "--all"], ["rm", "--all", "--older-than", "1s"], ["rm", "--older-than", "x"]];
    const surplus = ["ls reader", `show ${run.id} another`, "ls --last 0", "list"].map((line) => line.split(" "));

    for (const argv of [...argvs, ...surplus]) {
      expect(await user.command(["runs", ...argv])).toMatchObject({ exitCode: 2, stdout: "" });
    }
    expect(await user.command(["runs", "rm", run.id, "unknown"])).toMatchObject({ exitCode: 1, stdout: "" });
    expect(await json(user, "ls")).toMatchObject([{ id: run.id }]);
  });
});
