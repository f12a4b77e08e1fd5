import { expect, it } from "vitest";
import { rewriteConfig } from "../../src/git/rewrite-config.ts";

it.each([
  // As "git push -u https://me:token@example.com/a.git" writes it.
  ["a branch whose remote is an address", '[branch "main"]\n\tremote = https://me:token@example.com/a.git\n'],
  ["a remote whose name is an address", '[remote "https://me:token@example.com/a.git"]\n\tfetch = a\n'],
  ["a branch whose remote is a path of the host", '[branch "main"]\n\tremote = /home/token/a.git\n'],
  ["a remote that is a program", '[remote "origin"]\n\turl = ext::/usr/bin/token\n'],
])("The configuration of a copy's git tells nothing secret of %s", (_, config) => {
  expect(rewriteConfig(config)).not.toContain("token");
});

it("A branch keeps its remote, by name or as an address without a login", () => {
  const config =
    '[branch "a"]\n\tremote = origin\n[branch "b"]\n\tremote = .\n[branch "c"]\n\tremote = https://me:token@example.com/a.git\n';

  expect(rewriteConfig(config).match(/remote = .*/g)).toEqual([
    'remote = "origin"',
    'remote = "."',
    'remote = "https://example.com/a.git"',
  ]);
});
