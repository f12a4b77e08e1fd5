import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { failureOf } from "@budgie/testkit";
import { createKiroUser, WORKER, type KiroUser } from "../helpers/kiro-user.ts";
import { describeRow, V2, V2_LATE, V2_LATE_ACP, V3, type Cell } from "../helpers/profile-table.ts";

const commandOf = ({ calls }: KiroUser): string => calls().at(-1)?.argv.join(" ") ?? "";

function starts(command: string): Cell[2] {
  return async (user) => {
    expect(await user.ask("[[say: Answered.]]")).toMatchObject({ response: expect.stringContaining("Answered.") });
    expect(commandOf(user)).toMatch(new RegExp(`^${command}`));
  };
}

describeRow("start", [
  [V2, "names no harness, since help lists none", starts("chat --agent worker --no-interactive")],
  [V2_LATE, "names V2", starts("chat --v2 --agent worker --no-interactive")],
  [V2_LATE_ACP, "names V2", starts("acp --agent-engine v2 --agent worker")],
  [V3, "names V3 and nothing else", starts("acp --agent-engine v3 --auth-method cli$")],
]);

const resumes: Cell[2] = async (user) => {
  const { sessionId } = await user.ask("Keep token-lark.");

  expect(await user.ask("[[recall]]", sessionId)).toMatchObject({ response: expect.stringContaining("token-lark") });
  expect((await user.ask("[[recall]]")).response).not.toContain("token-lark");
};

describeRow("resume", [
  [V2, "continues its conversation alone", resumes],
  [V2_LATE, "continues its conversation alone", resumes],
  [V2_LATE_ACP, "continues its conversation alone", resumes],
  [V3, "continues its conversation alone", resumes],
]);

const losesAgent: Cell[2] = async (user) => {
  rmSync(user.file);

  expect(await failureOf(user.ask("[[write mine.txt: x]]"))).toMatchObject({ code: "AGENT_NOT_FOUND" });
  expect(existsSync(join(user.workspace, "mine.txt"))).toBe(false);
};

describeRow("unknown agent", [
  [V2, "fails, and the answer of Kiro's own agent is lost", losesAgent],
  [V2_LATE, "fails", losesAgent],
  [V2_LATE_ACP, "fails before the prompt", losesAgent],
  [V3, "fails before Kiro starts", losesAgent],
]);

const forget = ({ home }: KiroUser): void => {
  for (const path of [".kiro/sessions", ".local/share/kiro-cli/data.sqlite3"]) {
    rmSync(join(home, path), { recursive: true, force: true });
  }
};

const beginsAnew: Cell[2] = async (user) => {
  const { sessionId } = await user.ask("Keep token-lark.");
  forget(user);

  expect((await user.ask("[[recall]]", sessionId)).response).toContain("I remember nothing.");
};

const losesSession: Cell[2] = async (user) => {
  const { sessionId } = await user.ask("Keep token-lark.");
  forget(user);

  expect(await failureOf(user.ask("[[recall]]", sessionId))).toMatchObject({ code: "SESSION_UNUSABLE" });
};

describeRow("unknown session", [
  [V2, "begins anew, which its output does not tell", beginsAnew],
  [V2_LATE, "begins anew, which its output does not tell", beginsAnew],
  [V2_LATE_ACP, "fails", losesSession],
  [V3, "fails, and no conversation is created", losesSession],
]);

const isGuarded: Cell[2] = async (user) => {
  expect((await user.ask("[[write guarded.txt: x]]")).response).toContain("fs_write failed: a hook blocked it");
  expect(existsSync(join(user.workspace, "guarded.txt"))).toBe(false);
};

describeRow(
  "guard hook",
  [
    [V2, "blocks its tool", isGuarded],
    [V2_LATE, "blocks its tool", isGuarded],
    [V2_LATE_ACP, "blocks its tool", isGuarded],
    [
      V3,
      "is refused before Kiro starts",
      async (user) => {
        expect(await failureOf(user.ask("[[write guarded.txt: x]]"))).toMatchObject({
          code: "CONFIG_INVALID",
          message: expect.stringContaining("its hooks guard its tools"),
        });
        expect(user.calls()).toEqual([]);
      },
    ],
  ],
  { hooks: { preToolUse: [{ command: "exit 2" }] } },
);

const isDenied: Cell[2] = async (user) => {
  const { denied, response } = await user.ask("[[run: touch denied.txt]]");

  expect(denied).toHaveLength(1);
  expect(response).toContain("I was not allowed to use execute_bash.");
  expect(existsSync(join(user.workspace, "denied.txt"))).toBe(false);
};

describeRow("permission denied", [
  [V2, "is named, and the tool does nothing", isDenied],
  [V2_LATE, "is named, and the tool does nothing", isDenied],
  [V2_LATE_ACP, "is named, and the tool does nothing", isDenied],
  [V3, "is named, and the tool does nothing", isDenied],
]);

const hasModel: Cell[2] = async (user) => {
  expect((await user.ask("[[status]]")).response).toContain('"model":"claude-opus-4"');
};

describeRow(
  "model",
  [
    [V2, "is that of the agent's file", hasModel],
    [V2_LATE, "is that of the agent's file", hasModel],
    [V2_LATE_ACP, "is that of the agent's file", hasModel],
    [V3, "is that of the agent's file, as an option", hasModel],
  ],
  { model: "claude-opus-4" },
);

const costs: Cell[2] = async (user) => {
  expect((await user.ask("[[say: Answered.]]")).usage).toEqual({ credits: expect.any(Number) });
};

describeRow("usage", [
  [V2, "is its credits", costs],
  [V2_LATE, "is its credits", costs],
  [V2_LATE_ACP, "is its credits", costs],
  [V3, "is its credits", costs],
]);

const REDEFINED = { ...WORKER, allowedTools: ["*"], permissions: { rules: [{ capability: "all", effect: "allow" }] } };

const isIgnored: Cell[2] = async (user) => {
  user.write("work/.kiro/agents/worker.json", REDEFINED);

  expect((await user.ask("[[run: touch denied.txt]]")).denied).toHaveLength(1);
};

describeRow("redefinition by a repository, without a sandbox", [
  [V2, "has no effect, since Kiro starts outside the repository", isIgnored],
  [V2_LATE, "has no effect, since Kiro starts outside the repository", isIgnored],
  [
    V2_LATE_ACP,
    "is Kiro's rule, which only a sandbox ends",
    async (user) => {
      user.write("work/.kiro/agents/worker.json", REDEFINED);

      expect((await user.ask("[[run: touch allowed.txt]]")).denied).toEqual([]);
    },
  ],
  [
    V3,
    "has no effect on an agent that was sent",
    async (user) => {
      user.write("work/.kiro/agents/vibe.json", { ...REDEFINED, name: "vibe" });
      await isIgnored(user);
    },
  ],
  [
    V3,
    "fails if the repository has an agent of the same id",
    async (user) => {
      const [, id = ""] = /"agent":"(budgie-[0-9a-f]{32})"/.exec((await user.ask("[[status]]")).response) ?? [];
      user.write(`work/.kiro/agents/${id}.json`, REDEFINED);

      expect(await failureOf(user.ask("[[run: touch denied.txt]]"))).toMatchObject({
        code: "AGENT_NOT_FOUND",
        message: expect.stringContaining('from "workspace"'),
      });
      expect(existsSync(join(user.workspace, "denied.txt"))).toBe(false);
    },
  ],
]);

// As a start of V3 leaves it.
const UPGRADED = {
  permissions: {
    rules: [
      { capability: "fs_read", effect: "allow" },
      { capability: "fs_write", effect: "allow" },
    ],
  },
  hooks: [{ trigger: "agentSpawn", command: "true" }],
};

const staysInUse: Cell[2] = async (user) => {
  const before = readFileSync(user.file, "utf8");

  expect((await user.ask("[[write kept.txt: x]] [[run: touch denied.txt]]")).denied).toHaveLength(1);
  expect(readFileSync(join(user.workspace, "kept.txt"), "utf8")).toBe("x");
  expect(readFileSync(user.file, "utf8")).toBe(before);
};

describeRow(
  "upgrade in place",
  [
    [
      V2,
      "is what an older Kiro refuses; a sandbox shows it a copy",
      async (user) => {
        expect(await failureOf(user.ask("[[say: x]]"))).toMatchObject({ code: "AGENT_NOT_FOUND" });
      },
    ],
    [V2_LATE, "changes nothing for its agent", staysInUse],
    [V2_LATE_ACP, "changes nothing for its agent", staysInUse],
    [V3, "changes nothing for its agent", staysInUse],
  ],
  UPGRADED,
);

it("upgrade in place > v3 over acp: while it runs, leaves the next turn its agent", async () => {
  const user = createKiroUser(V3);
  const first = await user.ask("[[write kept.txt: x]]");

  expect(existsSync(`${user.file}.bak`)).toBe(true);
  const next = await user.ask("[[write more.txt: x]] [[run: touch denied.txt]]", first.sessionId);
  expect(next.denied).toHaveLength(1);
  expect(existsSync(join(user.workspace, "more.txt"))).toBe(true);
});
