import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createRunTurn } from "@budgie/core";
import type { Isolation } from "@budgie/core/owners";
import type { Policy } from "@budgie/core/policy";
import { createFakeRunner, failureOf } from "@budgie/testkit";
import { AGENT } from "../../helpers/agent.ts";
import { createTemporaryFolder } from "../../helpers/temporary-folder.ts";
import { write } from "../../changes/executable-repository.ts";

type Asked = {
  readonly isolation: Isolation;
  readonly workspace: Policy["workspace"];
  readonly directory?: string;
};

describe("the directory of a turn", () => {
  it.each<[Isolation, Policy["workspace"], readonly string[]]>([
    ["container", "rw", [import.meta.dirname]],
    ["container", "ro", []],
    ["none", "rw", []],
    ["remote", "rw", []],
  ])("with the isolation %j and the workspace %j is remembered before the agent starts: %j", async (...row) => {
    const [isolation, workspace, remembered] = row;
    const noted: string[] = [];
    const before: number[] = [];

    await create(
      { isolation, workspace },
      (directory) => noted.push(directory),
      () => before.push(noted.length),
    );

    expect(noted).toEqual(remembered);
    expect(before).toEqual([remembered.length]);
  });

  it.each<[Policy["workspace"], boolean]>([
    ["rw", true],
    ["ro", false],
  ])("with the workspace %j counts the git folder of a worktree too: %j", async (workspace, isNoted) => {
    const [main, tree] = [createTemporaryFolder(), createTemporaryFolder()];
    const common = join(main, ".git");
    for (const file of ["HEAD", "config", "objects/info/x", "refs/x", "logs/refs/x"]) write(common, file, "");
    write(common, "worktrees/tree/commondir", "../..\n");
    write(common, "worktrees/tree/gitdir", `${tree}/.git\n`);
    write(tree, ".git", `gitdir: ${common}/worktrees/tree\n`);
    const noted: string[] = [];

    await create(
      { isolation: "container", workspace, directory: tree },
      (path) => noted.push(path),
      () => undefined,
    );

    expect(noted).toEqual(isNoted ? [tree, common] : []);
  });

  it("is not given to an agent if it cannot be remembered", async () => {
    const failing = () => {
      throw Object.assign(new Error("full"), { code: "ENOSPC" });
    };
    const asked: number[] = [];

    const turn = create({ isolation: "container", workspace: "rw" }, failing, () => asked.push(1));

    expect(await failureOf(turn)).toMatchObject({
      code: "STATE_UNUSABLE",
      message: expect.stringContaining("(ENOSPC)"),
    });
    expect(asked).toEqual([]);
  });
});

function create(
  { directory = import.meta.dirname, isolation, workspace }: Asked,
  note: (directory: string) => void,
  onAsk: () => void,
) {
  const exit = { exitCode: 0, signal: undefined, reason: undefined, oomKilled: false };
  return createRunTurn({
    agents: () => [AGENT],
    runner: { ...createFakeRunner(() => ({})), isolation },
    async protocol() {
      onAsk();
      return { response: "done", file: undefined, exit, denied: [], warnings: [] };
    },
    policyOf: () => ({ workspace, egress: { mode: "none", hosts: [] }, limits: {}, timeoutMs: 1000 }),
    workspaceRules: { allowedRoots: [], guarded: undefined },
    fileTrust: { note },
  })({ agent: AGENT.name, prompt: "x", directory });
}
