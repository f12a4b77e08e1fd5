import { lstat, mkdir, mkdtemp, readdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { RunTurn } from "@budgie/core";
import type { AgentHook } from "@budgie/core/agents";
import type { Tightening } from "@budgie/core/policy";
import { GUARDS } from "../lab/caller.ts";
import type { Claim, Probe, Verdict } from "../probe/claim.ts";
import type { Lab } from "../lab/lab.ts";
import type { SecretPath } from "../lab/fake-home.ts";
import { requireEngine } from "../lab/target.ts";
import { held, through, judgeRefusal } from "../probe/verdicts.ts";

type ToDirectory = (lab: Lab) => string | Promise<string>;

export const CALLER_CLAIMS: readonly Claim[] = [
  {
    id: "guarded-directories",
    promise:
      "A caller cannot get a directory that holds a user's secrets, system files, an engine's socket or budgie's state.",
    protections: ["workspace-rules"],
    probes: [
      makeSecretProbe("have the root directory", ".ssh/id_rsa", () => "/"),
      makeSecretProbe("have the parent directory of the home", ".ssh/id_rsa", ({ root }) => root),
      makeSecretProbe("have the home", ".ssh/id_rsa", inHome("")),
      makeSecretProbe("have ~/.kiro", ".kiro/settings/mcp.json", inHome(".kiro")),
      makeSecretProbe("have ~/.ssh", ".ssh/id_rsa", inHome(".ssh")),
      makeSecretProbe("have a folder in ~/.aws", ".aws/sso/cache/kiro-mcp-oauth.json", inHome(".aws/sso/cache")),
      makeSecretProbe("have a folder in ~/.gnupg", ".gnupg/private-keys-v1.d/key", inHome(".gnupg/private-keys-v1.d")),
      makeSecretProbe("have budgie's state", "../own/secret.txt", ({ host }) => host.stateDir),
      makeSecretProbe("have Kiro's database", ".local/share/kiro-cli/data.sqlite3", ({ host }) => host.kiroDataDir),
      makeSecretProbe(
        "have ~/.ssh by a symlink in the project",
        ".ssh/id_rsa",
        linkTo(({ host }) => `${host.path}/.ssh`),
      ),
      makeSecretProbe("have ~/.ssh by way of ..", ".ssh/id_rsa", ({ host }) => `${host.project}/../../.ssh`),
      makeProbe("have the folder of the engine's socket", ({ runner, target }) => {
        requireEngine(target);
        return {
          directory: dirname(runner.guarded[0]?.path ?? ""),
          script: 'for file in *; do if [ -S "$file" ]; then echo "a socket: $file"; fi; done',
          evidence: "a socket",
        };
      }),
      makeSecretProbe("have ~/.config", ".config/gh/hosts.yml", inHome(".config")),
      makeSecretProbe("have a program's login in ~/.config", ".config/gh/hosts.yml", inHome(".config/gh")),
      makeSecretProbe(
        "have the desktop's autostart folder",
        ".config/autostart/agent.desktop",
        inHome(".config/autostart"),
      ),
      makeSecretProbe("have ~/.kube", ".kube/config", inHome(".kube")),
      makeSecretProbe("have another agent's login", ".codex/auth.json", inHome(".codex")),
      makeSecretProbe("have ~/.claude", ".claude/credentials.json", inHome(".claude")),
      makeSecretProbe("have a browser's profile", ".mozilla/firefox/default/logins.json", inHome(".mozilla/firefox")),
      makeSecretProbe("have the keyrings", ".local/share/keyrings/login.keyring", inHome(".local/share/keyrings")),
      ...["/etc", "/usr", "/run"].map((folder) => makeMachineProbe(`have ${folder}`, () => folder)),
      makeMachineProbe("have a folder of /run, in which services have sockets", () => findOpenFolder("/run")),
      makeMachineProbe("have a folder of /var/lib, in which services keep data", () => findOpenFolder("/var/lib")),
      makeProbe("have the host's /proc", () => ({
        directory: "/proc",
        script: `[ -d ./${process.pid} ] && echo "a process"`,
        evidence: "a process",
      })),
    ],
  },
  {
    id: "named-directories",
    promise: "A call works in the directory that it names; no agent's symlink redirects it.",
    protections: ["workspace-rules"],
    probes: [
      makeOtherProbe(
        "have another project by a symlink in the project",
        linkTo(({ host }) => host.otherProject),
      ),
      makeOtherProbe("have it by a relative symlink, such as a repository can contain", linkTo("../../other")),
      makeOtherProbe(
        "have it by a symlink in the middle of the path",
        async (lab) => `${await linkTo("../..")(lab)}/other`,
      ),
      makeOtherProbe("have it by .. after a symlink", async (lab) => `${await linkTo("..")(lab)}/../other`),
      makeOtherProbe("have it by a symlink to a symlink", async (lab) =>
        linkTo(await linkTo(({ host }) => host.otherProject)(lab))(lab),
      ),
    ],
  },
  {
    id: "allowed-roots",
    promise: "With --allow-root, a caller cannot get a directory outside the allowed roots.",
    protections: ["workspace-rules"],
    probes: [
      makeOutsideProbe("have a directory beside the root", ({ host }) => host.otherProject),
      makeOutsideProbe("have it by way of ..", ({ host }) => `${host.project}/../other`),
      makeOutsideProbe(
        "have it by a symlink in the root",
        linkTo(({ host }) => host.otherProject),
      ),
      makeOutsideProbe("have the parent directory of the root", ({ host }) => dirname(host.project)),
    ],
  },
  {
    id: "only-tighter",
    promise: "A caller cannot get more access or resources than its agent is configured with.",
    protections: ["tighter-policy"],
    probes: [
      makeWishProbe("write to a read-only workspace", { workspace: "rw" }),
      makeWishProbe("have a network", { egress: "bridge" }),
      makeWishProbe("have more memory", { limits: { memoryBytes: 1024 ** 3 } }),
      makeWishProbe("have more processes", { limits: { pids: 200 } }),
      makeWishProbe("have more time", { timeoutMs: 3_600_000 }),
    ],
  },
  {
    id: "reported-hooks",
    promise: "A result names the agent's guard hooks that the sandbox hides.",
    protections: ["reported-hooks"],
    probes: GUARDS.map(makeHookProbe),
  },
];

/** Creates a probe that works without a guard hook. An agent uses its tools even if a hook's file is missing. */
function makeHookProbe({ command }: AgentHook): Probe {
  return {
    name: `work without its guard ${command.replaceAll('"', "")}`,
    async attempt(lab) {
      const directory = await lab.makeDirectory();
      for (const place of ["hooks", "settings"]) await mkdir(join(directory, ".kiro", place), { recursive: true });
      const { warnings } = await lab.call({ agent: "guarded", prompt: "echo it ran", directory });
      const reported = warnings.find((text) => text.startsWith(`The guard hook ${JSON.stringify(command)}`));
      return reported === undefined ? through("no warning was given") : held(reported);
    },
  };
}

function makeSecretProbe(name: string, secret: SecretPath, toDirectory: ToDirectory): Probe {
  return makeProbe(name, async (lab) => planSecretAttack(lab, secret, await toDirectory(lab)));
}

function makeOutsideProbe(name: string, toDirectory: ToDirectory): Probe {
  return makeProbe(name, async (lab) => ({
    ...planSecretAttack(lab, "code/other/secret.txt", await toDirectory(lab)),
    call: lab.callForProject,
  }));
}

function makeWishProbe(name: string, tightening: Tightening): Probe {
  return makeProbe(name, ({ host }) => ({
    directory: host.project,
    script: "echo it ran",
    evidence: "it ran",
    tightening,
  }));
}

type Attack = {
  readonly directory: string;
  readonly script: string;
  /** A part of the script's output that shows that it got through */
  readonly evidence: string;
  readonly tightening?: Tightening;
  readonly call?: RunTurn;
};

function makeProbe(name: string, toAttack: (lab: Lab) => Attack | Promise<Attack>): Probe {
  return {
    name,
    async attempt(lab): Promise<Verdict> {
      const { call = lab.call, directory, evidence, script, tightening } = await toAttack(lab);
      const reply = call({ agent: "reviewer", prompt: script, directory, tightening });
      const output = reply.then(({ response }) => response);
      return judgeRefusal(output, evidence, [tightening === undefined ? "WORKSPACE_INVALID" : "INPUT_INVALID"]);
    },
  };
}

function makeOtherProbe(name: string, toDirectory: ToDirectory): Probe {
  return makeSecretProbe(name, "code/other/secret.txt", toDirectory);
}

/** Creates a probe of a directory of this machine, which shows only whether the directory has files. */
function makeMachineProbe(name: string, toDirectory: ToDirectory): Probe {
  return makeProbe(name, async (lab) => ({
    directory: await toDirectory(lab),
    script: 'for file in ./*; do if [ -e "$file" ]; then echo "it has files"; break; fi; done',
    evidence: "it has files",
  }));
}

/** Finds the first subdirectory that is readable and not empty. */
async function findOpenFolder(folder: string): Promise<string> {
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const mode = await lstat(path).then((found) => (found.isDirectory() ? found.mode : 0));
    if ((mode & 0o005) === 0o005 && (await readdir(path)).length > 0) return path;
  }
  return folder;
}

/** Returns an attack that reads the secret, wherever the directory is above or below the home. */
function planSecretAttack({ host }: Lab, secret: SecretPath, directory: string): Attack {
  const parts = join(host.path, secret).split("/").slice(1);
  const places = parts.map((_, index) => `'./${parts.slice(index).join("/")}'`);
  const script = `cat ${places.join(" ")} 2>/dev/null | tr -cd '[:print:]'`;
  return { directory, script, evidence: host.canaries[secret] };
}

function inHome(folder: string): ToDirectory {
  return ({ host }) => join(host.path, folder);
}

/** Returns a function that creates a symlink in the project and returns its path. */
function linkTo(target: string | ((lab: Lab) => string)): (lab: Lab) => Promise<string> {
  return async (lab) => {
    const path = join(await mkdtemp(join(lab.host.project, "links-")), "link");
    await symlink(typeof target === "string" ? target : target(lab), path);
    return path;
  };
}
