import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createFakeRunner } from "@budgie/testkit";
import { createTemporaryFolder } from "../../../core/test/helpers/temporary-folder.ts";
import { parseConfig } from "../../../cli/src/config/config.ts";
import { toSilentHost } from "../../../cli/test/helpers/to-silent-host.ts";
import { loadWorkspaceRules } from "../../src/server/load-workspace-rules.ts";
import { refuseGuardedMounts } from "../../src/config/refuse-guarded-mounts.ts";

const ENGINE = [{ path: "/srv/engine/docker.sock", what: "a container engine's socket" }];

/** Checks a path of a configuration file as a server on an engine does. Returns the error, in which the home is `~`; empty without one. */
async function check(path: string, allowRoot: readonly string[] = []): Promise<string> {
  const home = createTemporaryFolder();
  for (const name of [".ssh", ".config/gh", ".local/share/schemas", "code/schemas"]) {
    mkdirSync(join(home, name), { recursive: true });
  }
  symlinkSync(join(home, ".ssh"), join(home, "code/keys"));
  const file = join(home, "code/budgie.json");
  writeFileSync(file, JSON.stringify({ workspaces: { "~/code": { mounts: [path] } } }));
  const host = toSilentHost({ home, cwd: home, env: { XDG_RUNTIME_DIR: "/srv/runtime" } });
  const config = parseConfig({ sandbox: true, config: file, allowRoot }, host);
  const runner = { ...createFakeRunner(() => ({})), isolation: "container", guarded: ENGINE } as const;
  const checked = refuseGuardedMounts(config.workspaces, loadWorkspaceRules(config, host, runner));
  const error: unknown = await checked.catch((reason: unknown) => reason);
  if (error === undefined) return "";
  expect(error).toMatchObject({ code: "CONFIG_INVALID" });
  return (error as Error).message.replaceAll(home, "~");
}

describe("a mount of the configuration file", () => {
  it.each([
    ["/", "holds "],
    ["~/", "is your home directory"],
    ["~/.ssh", "is your SSH keys"],
    ["~/.ssh/id_ed25519", "lies in your SSH keys"],
    ["~/.aws/credentials", "lies in your AWS credentials"],
    ["~/.gnupg", "is your GnuPG keys"],
    ["~/.kiro/agents", "lies in Kiro's settings and sessions"],
    ["~/.local/share/kiro-cli/data.sqlite3", "lies in Kiro's login and conversations"],
    ["~/.local/state/budgie", "is budgie's own state"],
    ["~/.config/gh/hosts.yml", 'lies in "~/.config", where programs keep logins and settings'],
    ["~/.netrc", 'lies in "~/.netrc", where programs keep logins and settings'],
    ["~/code/budgie.json", "is budgie's configuration"],
    ["~/code", "holds budgie's configuration"],
    ["/srv/runtime/bus", "lies in the sockets of your login"],
    ["/srv/engine/docker.sock", "is a container engine's socket"],
    ["/srv/engine", "holds a container engine's socket"],
    ["/run/containerd", "lies in the sockets of this machine's services"],
    ["/etc/shadow", "lies in the system's own files"],
    ["/proc/1/environ", "lies in the system's own view"],
  ])("may not be %s", async (path, why) => {
    const message = await check(path);

    expect(message).toContain(`of "workspaces."~/code".mounts" in "~/code/budgie.json" ${why}`);
    expect(message).toMatch(/^The path "[^"]+" of .* Name another path, or take it out\.$/);
  });

  it("counts as what its symlinks lead to", async () => {
    expect(await check("~/code/keys")).toMatch(/^The path "~\/code\/keys" of .* \(really "~\/.ssh"\) is your SSH keys/);
  });

  it.each(["~/code/schemas", "~/code/missing", "/srv/data.json"])(
    "may be %s, in an allowed root or not",
    async (path) => {
      expect(await check(path)).toBe("");
      expect(await check(path, ["~/code/schemas"])).toBe("");
    },
  );

  it("may be a dot-directory that an allowed root names", async () => {
    expect(await check("~/.local/share/schemas")).toContain("where programs keep logins");
    expect(await check("~/.local/share/schemas", ["~/.local/share/schemas"])).toBe("");
  });
});
