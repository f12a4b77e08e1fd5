import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findAgentFiles } from "@budgie/protocols/kiro";
import { mayHoldSecrets } from "../../src/kiro/may-hold-secrets.ts";
import { createTemporaryFolder } from "../../../core/test/helpers/temporary-folder.ts";
import { createUser } from "./kiro-user.ts";

describe("a sandbox", () => {
  it.each([
    "settings/mcp.json",
    "settings/mcp.json.bak",
    "hooks/a.json",
    "workflows/a.md",
    "workspace-roots/1/permissions.yaml",
    "sessions/cli/1.jsonl",
    "agents/b.json",
    "sub-agents/sessions/1/response.txt",
    "powers/jira/mcp.json",
    "powers/jira/mcp.json.bak",
    ".cli_bash_history",
    "keys/deploy.PEM",
  ])("never shows %s, and says so", (name) => {
    const user = createUser(name);
    symlinkSync(name, join(user.home, ".kiro/link.md"));

    for (const uri of [`~/.kiro/${name}`, `${user.home}/.kiro/${name}`, `${user.home}/.kiro/link.md`].map(toUri)) {
      expect(user.find({ resources: [uri] }).projections).toHaveLength(1);
      const { projections, warnings } = user.find({ prompt: uri });
      expect(projections).toEqual([{ source: join(user.home, ".kiro/agents/a.json"), home: ".kiro/agents/a.json" }]);
      expect(warnings).toEqual([expect.stringContaining(`"${uri}" (it may hold secrets)`)]);
    }
  });

  it.each([
    ["b.json", "{}"],
    ["team/b.json", "{}"],
    ["b.json.bak", "{}"],
    ["b.json~", "{}"],
    ["b", "{}"],
    ["prompt.txt", "You review."],
    ["b.md", "---\nmcpServers: {}\n---\nYou review."],
    ["team/b.MD", "\uFEFF\n ---\r\nname: b\n---\n"],
    ["blank.md", `${" ".repeat(5_000)}\n---\nname: b\n---\n`],
  ])("never shows another agent's token in agents/%s", (name, start) => {
    const user = createUser();
    user.write(`agents/${name}`, `${start}\ntoken-of-b`);
    symlinkSync(`agents/${name}`, join(user.home, ".kiro/link.md"));

    for (const named of [`agents/${name}`, "agents/**", "link.md"]) {
      const uri = `file://~/.kiro/${named}`;
      expect(user.find({ resources: [uri] })).toEqual({
        projections: [{ source: join(user.home, ".kiro/agents/a.json"), home: ".kiro/agents/a.json" }],
        warnings: [expect.stringContaining(`"${uri}" (it may hold secrets)`)],
      });
    }
    expect(user.find({ prompt: `file://./${name}` }).projections).toHaveLength(1);
  });

  it("shows prompts beside agents, and the agent's own file once", () => {
    const user = createUser();
    user.write("agents/role.md", "You review.\n---\n");
    user.write("agents/team/role.md", "# Role");

    const { projections, warnings } = user.find({ resources: ["file://~/.kiro/agents/**"] });

    expect(warnings).toEqual([]);
    expect(projections.map(({ home }) => home)).toEqual([
      ".kiro/agents/a.json",
      ".kiro/agents/role.md",
      ".kiro/agents/team/role.md",
    ]);
  });

  it("shows nothing of the agent's own file at its host path if a copy stands in its place", () => {
    const user = createUser();
    const [file, shown] = [join(user.home, ".kiro/agents/a.json"), join(user.home, "copy.json")];
    user.find({});
    const named = ["~/.kiro/agents/a.json", file].map(
      (path) => ({ uri: `file://${path}`, path, of: "resources" }) as const,
    );

    const { projections, warnings } = findAgentFiles(
      { name: "a", file, shown, named },
      { home: user.home, shared: [] },
    );

    expect(projections).toEqual([{ source: shown, home: ".kiro/agents/a.json" }]);
    expect(warnings).toEqual([expect.stringContaining(`names: "file://${file}" (it may hold secrets).`)]);
  });

  it("knows the agents of a folder that is a symlink", () => {
    const user = createUser("dotfiles/b.json");
    symlinkSync("dotfiles", join(user.home, ".kiro/agents"));

    for (const uri of ["~/.kiro/dotfiles/b.json", "~/.kiro/agents/b.json"].map(toUri))
      expect(user.find({ resources: [uri] }).projections).toHaveLength(1);
  });
});

it("takes Markdown beside agents for a prompt only if it can read its start", () => {
  const kiroDir = createTemporaryFolder();
  mkdirSync(join(kiroDir, "agents/folder.md"), { recursive: true });
  writeFileSync(join(kiroDir, "agents/role.md"), "You review.");

  const secret = ["role.md", "folder.md", "missing.md"].filter((name) =>
    mayHoldSecrets(join(kiroDir, "agents", name), kiroDir),
  );

  expect(secret).toEqual(["folder.md", "missing.md"]);
});

function toUri(path: string): string {
  return `file://${path}`;
}
