import { describe, expect, it } from "vitest";
import { resolvePath, findKiroDataDir, findStateDir } from "../../src/config/host-paths.ts";

const home = "/home/me";

describe("resolvePath", () => {
  it.each([
    ["~", "/home/me"],
    ["~/.kiro/agents", "/home/me/.kiro/agents"],
    ["agents", "/cwd/agents"],
    ["../agents/", "/agents"],
    ["/etc/agents", "/etc/agents"],
    ["~other/agents", "/cwd/~other/agents"],
  ])("resolves %s to %s", (path, expected) => {
    expect(resolvePath(path, { cwd: "/cwd", home })).toBe(expected);
  });
});

describe("findKiroDataDir", () => {
  it.each([
    ["linux", {}, "/home/me/.local/share/kiro-cli"],
    ["linux", { XDG_DATA_HOME: "/data" }, "/data/kiro-cli"],
    ["linux", { XDG_DATA_HOME: "relative" }, "/home/me/.local/share/kiro-cli"],
    ["darwin", { XDG_DATA_HOME: "/data" }, "/home/me/Library/Application Support/kiro-cli"],
  ] as const)("on %s with %j is %s", (platform, env, expected) => {
    expect(findKiroDataDir({ platform, env, home })).toBe(expected);
  });
});

describe("findStateDir", () => {
  it.each([
    [{}, "/home/me/.local/state/budgie"],
    [{ XDG_STATE_HOME: "/state" }, "/state/budgie"],
    [{ XDG_STATE_HOME: "" }, "/home/me/.local/state/budgie"],
  ])("with %j is %s", (env, expected) => {
    expect(findStateDir({ env, home })).toBe(expected);
  });
});
