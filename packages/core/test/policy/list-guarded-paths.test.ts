import { describe, expect, it } from "vitest";
import { listGuardedPaths } from "../../src/policy/list-guarded-paths.ts";
import { findRefusal } from "../../src/policy/workspace-rules.ts";

const MINE = toRules("/home/someone");

function toRules(home: string) {
  const kiro = `${home}/.kiro`;
  const own = {
    agentsDir: `${kiro}/agents`,
    promptsDir: `${kiro}/prompts`,
    kiroDataDir: `${home}/.local/share/kiro-cli`,
  };
  const places = { stateDir: `${home}/.local/state/budgie`, sessionsDir: `${kiro}/sessions` };
  const settings = [{ path: `${home}/dotfiles/budgie.json`, what: "budgie's configuration" }];
  const given = { ...own, ...places, kiroDir: "/opt/kiro", settings, runtimeDir: "/run/user/1000" };
  return { allowedRoots: [], guarded: listGuardedPaths({ home, ...given }) };
}

describe("listGuardedPaths", () => {
  it.each([
    ["/etc", "is the system's own files"],
    ["/etc/ssl/private", "lies in the system's own files"],
    ["/usr/local/bin", "lies in the system's own files"],
    ["/boot", "is the system's own files"],
    ["/root/.ssh", "lies in the system's own files"],
    ["/var/lib/containerd", "lies in the system's own files"],
    ["/var/spool/cron", "lies in the system's own files"],
    ["/var", "holds "],
    ["/run", "holds the sockets of your login, which XDG_RUNTIME_DIR names ("],
    ["/run/user/1000/bus", "lies in the sockets of your login, which XDG_RUNTIME_DIR names ("],
    ["/run/docker", "lies in the sockets of this machine's services"],
    ["/run/containerd/s", "lies in the sockets of this machine's services"],
    ["/proc/1", "lies in the system's own view"],
    ["/home/someone/dotfiles", "holds budgie's configuration"],
    ["/opt/kiro/settings", "lies in Kiro's settings"],
  ])("keep %s from a sandbox", async (directory, what) => {
    expect((await findRefusal(directory, MINE))?.what).toContain(what);
  });

  it.each(["/home/someone/code", "/srv/app", "/opt/app", "/var/www/app", "/run/media/someone/disk/app", "/etcetera"])(
    "leave %s alone",
    async (directory) => {
      expect(await findRefusal(directory, MINE)).toBeUndefined();
    },
  );

  it.each(["/var/lib/jenkins", "/root"])(
    "leave the projects of a home at %s alone, and nothing else there",
    async (home) => {
      const rules = toRules(home);

      expect(await findRefusal(`${home}/workspace/app`, rules)).toBeUndefined();
      expect((await findRefusal(home, rules))?.what).toContain("is your home directory");
      expect((await findRefusal(`${home}/.ssh`, rules))?.what).toContain("is your SSH keys");
      expect((await findRefusal(`${home}/.config/gh`, rules))?.what).toContain("where programs keep logins");
      expect((await findRefusal("/var/lib/docker", rules))?.what).toContain("lies in the system's own files");
    },
  );

  it("make no exception for a home at the root of the file system", async () => {
    expect((await findRefusal("/etc/ssl", toRules("/")))?.what).toContain("lies in the system's own files");
  });
});
