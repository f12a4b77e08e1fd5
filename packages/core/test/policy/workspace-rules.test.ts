import { existsSync, mkdirSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import type { AllowedRoot, GuardedPath, WorkspaceRules } from "@budgie/core/policy";
import { checkWorkspace } from "../../src/policy/check-workspace.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

let root: string;
let home: string;
beforeEach(() => {
  root = createTemporaryFolder();
  home = join(root, "home", "me");
  for (const folder of [".ssh/keys", "code/app", ".local/state/budgie"])
    mkdirSync(join(home, folder), { recursive: true });
});

function guarding(...more: readonly GuardedPath[]): WorkspaceRules {
  const guarded = [
    { path: home, what: "the home", mayHoldWorkspaces: true },
    { path: join(home, ".ssh"), what: "the keys" },
    { path: join(home, ".aws"), what: "the credentials" },
    ...more,
  ];
  return { allowedRoots: [], guarded };
}

function allowing(...paths: readonly string[]): WorkspaceRules {
  return { allowedRoots: paths.map(toRoot), guarded: undefined };
}

/** Creates a root as budgie does at its start. */
function toRoot(named: string): AllowedRoot {
  return { named, path: existsSync(named) ? realpathSync(named) : named };
}

const refused = (message: RegExp | string) => ({
  code: "WORKSPACE_INVALID",
  message: typeof message === "string" ? expect.stringContaining(message) : expect.stringMatching(message),
});

describe("guarded paths", () => {
  it("leave a project in the home directory alone", async () => {
    const app = join(home, "code/app");

    expect(await checkWorkspace(app, guarding())).toBe(app);
  });

  it("are named when a workspace is one, contains one or lies in one", async () => {
    await expect(checkWorkspace(home, guarding())).rejects.toMatchObject(
      refused(
        `The directory "${home}" is the home ("${home}"), which a sandbox is never given. Pass a project's own directory.`,
      ),
    );
    await expect(checkWorkspace(join(home, ".ssh"), guarding())).rejects.toMatchObject(refused("is the keys"));
    await expect(checkWorkspace(join(home, ".ssh/keys"), guarding())).rejects.toMatchObject(
      refused("lies in the keys"),
    );
    await expect(checkWorkspace(join(root, "home"), guarding())).rejects.toMatchObject(refused("holds the home"));
    await expect(checkWorkspace("/", guarding())).rejects.toMatchObject(refused('"/" holds the home'));
  });

  it("are found behind a symlink to them, which the message resolves", async () => {
    const [link, below] = [join(home, "code/app/a"), join(home, "code/app/b")];
    symlinkSync(join(home, ".ssh"), link);
    symlinkSync("../../.ssh/keys", below);

    await expect(checkWorkspace(link, guarding())).rejects.toMatchObject(
      refused(`"${link}" (really "${join(home, ".ssh")}") is the keys`),
    );
    await expect(checkWorkspace(below, guarding())).rejects.toMatchObject(refused("lies in the keys"));
  });

  it("include each symlink on their way, and its target", async () => {
    const [store, between] = [join(root, "store"), join(root, "between")];
    for (const folder of [join(store, "aws"), between]) mkdirSync(folder, { recursive: true });
    symlinkSync(join(between, "link"), join(home, ".aws"));
    symlinkSync(join(store, "aws"), join(between, "link"));

    await expect(checkWorkspace(store, guarding())).rejects.toMatchObject(refused("holds the credentials"));
    await expect(checkWorkspace(join(store, "aws"), guarding())).rejects.toMatchObject(refused("is the credentials"));
    await expect(checkWorkspace(between, guarding())).rejects.toMatchObject(refused("holds the credentials"));
  });

  it("apply before they exist, and behind a symlink that is still dangling", async () => {
    const [state, mount] = [join(root, "var/state/budgie"), join(root, "mount")];
    for (const folder of [join(root, "var/state"), mount]) mkdirSync(folder, { recursive: true });
    symlinkSync(join(mount, "aws"), join(home, ".aws"));
    const rules = guarding({ path: state, what: "the state" });

    await expect(checkWorkspace(join(root, "var"), rules)).rejects.toMatchObject(refused("holds the state"));
    await expect(checkWorkspace(mount, rules)).rejects.toMatchObject(refused("holds the credentials"));
  });

  it("apply before their parent folders exist, behind a symlink on the way", async () => {
    symlinkSync(join(home, "code"), join(root, "alias"));
    const rules = guarding({ path: join(root, "alias/new/state"), what: "the state" });

    await expect(checkWorkspace(join(home, "code"), rules)).rejects.toMatchObject(refused("holds the state"));
  });

  it("are reached from a home that is itself a symlink", async () => {
    symlinkSync(home, join(root, "alias"));
    const guarded = [{ path: join(root, "alias/.ssh"), what: "the keys" }];

    await expect(checkWorkspace(join(home, ".ssh"), { allowedRoots: [], guarded })).rejects.toMatchObject(
      refused("is the keys"),
    );
  });

  it("include what the symlinks in a folder of settings lead to, at any time", async () => {
    const settings = { path: join(home, "agents"), what: "the agents' files", settings: "folder" } as const;
    const { settings: _, ...others } = settings;
    const dotfiles = join(home, "code/dotfiles");
    mkdirSync(join(home, "agents/team"), { recursive: true });
    mkdirSync(dotfiles);
    const rules = guarding(settings);
    expect(await checkWorkspace(dotfiles, rules)).toBe(dotfiles);

    symlinkSync(join(dotfiles, "x.json"), join(home, "agents/team/x.json"));

    const message = `holds the agents' files ("${settings.path}")`;
    await expect(checkWorkspace(dotfiles, rules)).rejects.toMatchObject(refused(message));
    await expect(checkWorkspace(join(home, "code"), rules)).rejects.toMatchObject(refused(message));
    expect(await checkWorkspace(dotfiles, guarding(others))).toBe(dotfiles);
    expect(await checkWorkspace(join(home, "code/app"), rules)).toBe(join(home, "code/app"));
  });

  it("are not confused with their siblings", async () => {
    mkdirSync(join(root, "home/me-too"));
    const rules = guarding({ path: join(home, "code/a"), what: "the state" });

    expect(await checkWorkspace(join(root, "home/me-too"), rules)).toBe(join(root, "home/me-too"));
    expect(await checkWorkspace(join(home, "code/app"), rules)).toBe(join(home, "code/app"));
  });

  it("may contain folders for workspaces, such as a home", async () => {
    const services = { path: root, what: "the services", except: [join(home, "code"), "/"] };
    const rules = { allowedRoots: [], guarded: [services] };

    expect(await checkWorkspace(join(home, "code/app"), rules)).toBe(join(home, "code/app"));
    await expect(checkWorkspace(home, rules)).rejects.toMatchObject(refused("lies in the services"));
    await expect(checkWorkspace(root, rules)).rejects.toMatchObject(refused("is the services"));
  });

  it("include all dot-directories of a home, which no list could name", async () => {
    for (const folder of [".config/gh", "code/app/.claude/worktrees/one"])
      mkdirSync(join(home, folder), { recursive: true });
    const remedy = `Pass a project's own directory, or allow one in there with the option "allowedRoots".`;

    for (const [folder, closed] of [
      [".config", ".config"],
      [".config/gh", ".config"],
      [".local/state", ".local"],
      ["code/app/.claude/worktrees/one", "code/app/.claude"],
    ] as const) {
      await expect(checkWorkspace(join(home, folder), guarding())).rejects.toMatchObject(
        refused(`lies in "${join(home, closed)}", where programs keep logins and settings. ${remedy}`),
      );
    }
  });

  it("do not hang the check with circular symlinks", async () => {
    symlinkSync(join(home, ".aws"), join(home, ".aws"));

    expect(await checkWorkspace(join(home, "code/app"), guarding())).toBe(join(home, "code/app"));
  });
});

describe("allowed roots", () => {
  it("allow themselves, and everything below them", async () => {
    const rules = allowing("/nowhere", join(home, "code"));

    expect(await checkWorkspace(join(home, "code"), rules)).toBe(join(home, "code"));
    expect(await checkWorkspace(join(home, "code/app"), rules)).toBe(join(home, "code/app"));
    expect(await checkWorkspace(home, allowing("/"))).toBe(home);
  });

  it("exclude everything else, and are named in the refusal", async () => {
    mkdirSync(join(home, "code-of-others"));
    const rules = allowing(join(home, "code"));
    const message = `lies in none of the allowed roots ("${join(home, "code")}"). Pass one in there, or allow one more`;

    await expect(checkWorkspace(home, rules)).rejects.toMatchObject(refused(message));
    await expect(checkWorkspace(join(home, "code-of-others"), rules)).rejects.toMatchObject(refused(message));
    await expect(checkWorkspace(join(home, "code/../.ssh"), rules)).rejects.toMatchObject(refused(message));
  });

  it("cannot be left through a symlink in them, and can be entered through one to them", async () => {
    symlinkSync(join(home, ".ssh"), join(home, "code/app/out"));
    symlinkSync(join(home, "code/app"), join(root, "in"));
    const rules = allowing(join(home, "code"));

    await expect(checkWorkspace(join(home, "code/app/out"), rules)).rejects.toMatchObject(refused("in none of the"));
    expect(await checkWorkspace(join(root, "in"), rules)).toBe(join(home, "code/app"));
  });

  it("do not allow guarded paths", async () => {
    const rules = { ...guarding(), allowedRoots: [toRoot(home)] };

    await expect(checkWorkspace(join(home, ".ssh"), rules)).rejects.toMatchObject(refused("is the keys"));
  });

  it("can name a dot-directory for workspaces, which opens no other", async () => {
    for (const folder of [".config/gh", ".local/src/app", ".local/src/app/.git"]) {
      mkdirSync(join(home, folder), { recursive: true });
    }
    const rules = { ...guarding(), allowedRoots: [toRoot(home), toRoot(join(home, ".local/src"))] };

    expect(await checkWorkspace(join(home, ".local/src/app"), rules)).toBe(join(home, ".local/src/app"));
    await expect(checkWorkspace(join(home, ".local"), rules)).rejects.toMatchObject(refused("where programs keep"));
    await expect(checkWorkspace(join(home, ".local/src/app/.git"), rules)).rejects.toMatchObject(
      refused("where programs keep"),
    );
    await expect(checkWorkspace(join(home, ".config/gh"), rules)).rejects.toMatchObject(
      refused(`lies in "${join(home, ".config")}", where programs keep logins and settings. Pass a project's own`),
    );
  });

  it("may be a symlink, whose target is allowed too", async () => {
    symlinkSync(join(home, "code/app"), join(home, "alias"));
    const rules = { ...guarding(), allowedRoots: [toRoot(join(home, "alias"))] };

    expect(await checkWorkspace(join(home, "alias"), rules)).toBe(join(home, "code/app"));
    expect(await checkWorkspace(join(home, "code/app"), rules)).toBe(join(home, "code/app"));
  });

  it("do not follow a symlink that later replaced one", async () => {
    const rules = allowing(join(home, "code"));
    rmSync(join(home, "code"), { recursive: true });
    symlinkSync(join(home, ".ssh"), join(home, "code"));

    await expect(checkWorkspace(join(home, "code"), rules)).rejects.toMatchObject(refused("in none of the"));
  });
});
