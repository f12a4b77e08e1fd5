import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";
import { readGitIdentity } from "../../src/git/read-git-identity.ts";

const ADA = {
  GIT_AUTHOR_NAME: "Ada Lovelace",
  GIT_AUTHOR_EMAIL: "ada@example.com",
  GIT_COMMITTER_NAME: "Ada Lovelace",
  GIT_COMMITTER_EMAIL: "ada@example.com",
};

describe("the name in which agents commit", () => {
  it("is that of ~/.gitconfig, before that of git's folder", () => {
    expect(
      read({
        ".config/git/config": "[user]\n\tname = Somebody\n\temail = ada@example.com\n",
        ".gitconfig": '[user]\n\tname = "Ada Lovelace" # by birth\n',
      }).identity,
    ).toEqual(ADA);
  });

  it("is that of an included file, and of no file that is included for some repositories only", () => {
    const { identity } = read({
      ".gitconfig": '[include]\npath = dotfiles/git\n[includeIf "gitdir:~/work/"]\npath = work\n',
      "dotfiles/git": "[user]\nname = Ada Lovelace\n[include]\npath = ~/address\n",
      address: "[user]\nemail = ada@example.com\n[include]\npath = ~/address\n",
      work: "[user]\nemail = ada@work.example\n",
    });

    expect(identity).toEqual(ADA);
  });

  it("is that of the file that GIT_CONFIG_GLOBAL names", () => {
    const files = {
      other: "[user]\nname = Ada Lovelace\nemail = ada@example.com\n",
      ".gitconfig": "[user]\nname = Somebody\nemail = x@example.com\n",
    };

    expect(read(files, (home) => ({ GIT_CONFIG_GLOBAL: join(home, "other") })).identity).toEqual(ADA);
  });

  it("is none if GIT_CONFIG_GLOBAL says that there is no file", () => {
    const files = { ".gitconfig": "[user]\nname = Ada Lovelace\nemail = ada@example.com\n" };

    expect(read(files, () => ({ GIT_CONFIG_GLOBAL: "/dev/null" }))).toEqual({ identity: {}, lines: [] });
  });

  it("is found although a file includes itself many times", () => {
    const itself = "[include]\npath = .gitconfig\n".repeat(20);

    expect(read({ ".gitconfig": `[user]\nname = Ada Lovelace\nemail = ada@example.com\n${itself}` }).identity).toEqual(
      ADA,
    );
  });

  it.each([
    {},
    { ".gitconfig": '[user]\nname = Ada\n[user "work"]\nemail = ada@work.example\n' },
    { ".gitconfig": "[user]\nname = Ada Lovelace\n" },
    { ".gitconfig": "[user\nname" },
  ])("is none without both name and address: %j", (files) => {
    expect(read(files)).toEqual({ identity: {}, lines: [] });
  });

  it("is none if the file cannot be read, which is reported", () => {
    const { identity, lines } = read({ ".gitconfig/file": "" });

    expect(identity).toEqual({});
    expect(lines).toEqual([
      expect.stringMatching(/^Agents may not commit in your name, .*\.gitconfig".*not a file\.$/),
    ]);
  });
});

function read(files: Readonly<Record<string, string>>, toEnv: (home: string) => NodeJS.ProcessEnv = () => ({})) {
  const home = createTemporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(home, path, ".."), { recursive: true });
    writeFileSync(join(home, path), text);
  }
  const lines: string[] = [];
  const identity = readGitIdentity({ env: toEnv(home), home, report: (line) => void lines.push(line) });
  return { identity, lines };
}
