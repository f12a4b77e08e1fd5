import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { createOwner } from "@budgie/core";
import { createRunArchive } from "@budgie/store";
import { createBudgieUser, toText, type BudgieUser } from "../../helpers/start-budgie.ts";

const toStateDir = ({ host }: BudgieUser): string => join(host.home, ".local/state/budgie");

async function listRuns(user: BudgieUser) {
  const stateDir = toStateDir(user);
  const archive = createRunArchive({ stateDir, owner: createOwner({ stateDir }) });
  const runs = await archive.recent({ limit: 100 });
  archive.close();
  return runs;
}

describe("the run log of a server", () => {
  it("contains every turn before its answer arrives", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.serve();

    expect(await listRuns(user)).toEqual([]);
    const { structuredContent } = await ask("code-reviewer", { prompt: "[[say: Hi.]]" });
    const [run] = await listRuns(user);
    await ask("code-reviewer", { prompt: "" });
    await ask("shell-worker", { prompt: "[[exit 3]]", sessionId: "" });

    expect(run).toMatchObject({
      agent: "code-reviewer",
      sessionId: structuredContent?.["sessionId"],
      isolation: "none",
      outcome: "answered",
      exit: { exitCode: 0, signal: undefined },
      promptBytes: 12,
      answerBytes: 3,
      egress: undefined,
    });
    expect((await listRuns(user)).map(({ agent }) => agent)).toEqual(["shell-worker", "code-reviewer"]);
  });

  it("fails no turn when it is broken, and is reported once", async () => {
    await using user = await createBudgieUser();
    const file = join(toStateDir(user), "runs.sqlite3");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "no database ".repeat(1000));
    const { ask, stderr } = await user.serve();

    const answers = [
      await ask("code-reviewer", { prompt: "[[say: A.]]" }),
      await ask("code-reviewer", { prompt: "[[say: B.]]" }),
    ];

    expect(answers.map(toText)).toEqual(["A.", "B."]);
    expect(stderr().match(/Turns are not logged: .*/g)).toEqual([
      `Turns are not logged: Cannot use the run log "${file}" (file is not a database). Make it writable, or move it away if it is broken.`,
    ]);
  });

  it("is disabled without SQLite, in local mode", async () => {
    await using user = await createBudgieUser();
    const { ask, stderr } = await user.start({ env: { NODE_OPTIONS: `--import ${toDataUrl(NO_SQLITE)}` } });

    const answers = [
      await ask("code-reviewer", { prompt: "[[say: A.]]" }),
      await ask("code-reviewer", { prompt: "[[say: B.]]" }),
    ];

    expect(answers.map(toText)).toEqual(["A.", "B."]);
    expect(stderr().match(/Turns are not logged: .*/g)).toEqual([
      expect.stringMatching(/neither better-sqlite3 nor node:sqlite works here .*"npm rebuild better-sqlite3 /),
    ]);
    expect(await listRuns(user)).toEqual([]);
  });
});

const toDataUrl = (code: string) => `data:text/javascript;base64,${Buffer.from(code).toString("base64")}`;
// The bundle requires modules that are not in it.
const NO_SQLITE = `import Module from "node:module";
const load = Module._load;
Module._load = (name, ...rest) => {
  if (/better-sqlite3|^node:sqlite/.test(name)) throw new Error("No " + name + ".");
  return load(name, ...rest);
};`;
