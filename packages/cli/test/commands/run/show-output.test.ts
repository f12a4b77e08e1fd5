import { describe, expect, it } from "vitest";
import { createBudgieUser } from "../../helpers/start-budgie.ts";
import { makeRun, remember } from "../runs/runs-place.ts";

describe("budgie logs of a turn that has ended", () => {
  it("prints its transcript, escaped for a terminal, and its outcome on stderr", async () => {
    await using user = await createBudgieUser();
    const run = makeRun({ transcript: "I look.\u001b[2J\u202E\nDone.", outcome: "TIMED_OUT" });
    await remember(user, [run]);

    expect(await user.command(["logs", run.id.slice(0, 8)])).toMatchObject({
      exitCode: 0,
      stdout: "I look.\nDone.\n",
      stderr: "budgie: The turn has ended: TIMED_OUT.\n",
    });
  });

  it("says how later ones are kept, if it was not", async () => {
    await using user = await createBudgieUser();
    const run = makeRun();
    await remember(user, [run]);

    const { exitCode, stderr, stdout } = await user.command(["logs", run.id]);

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(stderr).toContain(
      `The turn "${run.id}" does not run now (answered), and what its agent printed was not kept.`,
    );
    expect(stderr).toContain('"keepTranscripts": true');
  });

  it("is refused for an id of none", async () => {
    await using user = await createBudgieUser();
    await remember(user, [makeRun({ transcript: "I look." })]);

    for (const id of ["x", ""]) {
      expect(await user.command(["logs", id])).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining("No turn"),
      });
    }
  });
});
