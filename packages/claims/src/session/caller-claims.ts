import { lstat, mkdir, mkdtemp, readdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AgentHook, RunTurn, Tightening } from "@budgie/core";
import { GUARDS } from "../lab/caller.ts";
import type { Claim, Probe, Verdict } from "../probe/claim.ts";
import type { Lab } from "../lab/lab.ts";
import type { SecretPath } from "../lab/fake-home.ts";
import { held, through, judgeRefusal } from "../probe/verdicts.ts";

type ToDirectory = (lab: Lab) => string | Promise<string>;

export const CALLER_CLAIMS: readonly Claim[] = [
  {
    id: "guarded-directories",
    promise:
      "A caller cannot get a directory that holds a user's secrets, system files, an engine's socket or budgie's state.",
    protections: ["workspace-rules"],
    probes: [
      toSecretProbe("have the root directory", ".ssh/id_rsa", () => "/"),
      toSecretProbe("have the parent directory of the home", ".ssh/id_rsa", ({ root }) => root),
      toSecretProbe("have the home", ".ssh/id_rsa", inHome("")),
      toSecretProbe("have ~/.kiro", ".kiro/settings/mcp.json", inHome(".kiro")),
      toSecretProbe("have ~/.ssh", ".ssh/id_rsa", inHome(".ssh")),
      toSecretProbe("have a folder in ~/.aws", ".aws/sso/cache/kiro-mcp-oauth.json", inHome(".aws/sso/cache")),
      toSecretProbe("have a folder in ~/.gnupg", ".gnupg/private-keys-v1.d/key", inHome(".gnupg/private-keys-v1.d")),
      toSecretProbe("have budgie's state", "../own/secret.txt", ({ host }) => host.stateDir),
      toSecretProbe("have Kiro's database", ".local/share/kiro-cli/data.sqlite3", ({ host }) => host.kiroDataDir),
      toSecretProbe(
        "have ~/.ssh by a symlink in the project",
        ".ssh/id_rsa",
        linkTo(({ host }) => `${host.path}/.ssh`),
      ),
      toSecretProbe("have ~/.ssh by way of ..", ".ssh/id_rsa", ({ host }) => `${host.project}/../../.ssh`),
      toProbe("have the folder of the engine's socket", (lab) => ({
        directory: dirname(lab.runner.guarded[0]?.path ?? ""),
        script: 'for file in *; do if [ -S "$file" ]; then echo "a socket: $file"; fi; done',
        evidence: "a socket",
      })),
      toSecretProbe("have ~/.config", ".config/gh/hosts.yml", inHome(".config")),
      toSecretProbe("have a program's login in ~/.config", ".config/gh/hosts.yml", inHome(".config/gh")),
      toSecretProbe(
        "have the desktop's autostart folder",
        ".config/autostart/agent.desktop",
        inHome(".config/autostart"),
      ),
      toSecretProbe("have ~/.kube", ".kube/config", inHome(".kube")),
      toSecretProbe("have another agent's login", ".codex/auth.json", inHome(".codex")),
      toSecretProbe("have ~/.claude", ".claude/credentials.json", inHome(".claude")),
      toSecretProbe("have a browser's profile", ".mozilla/firefox/default/logins.json", inHome(".mozilla/firefox")),
      toSecretProbe("have the keyrings", ".local/share/keyrings/login.keyring", inHome(".local/share/keyrings")),
      ...["/etc", "/usr", "/run"].map((folder) => toMachineProbe(`have ${folder}`, () => folder)),
      toMachineProbe("have a folder of /run, in which services have sockets", () => findOpenFolder("/run")),
      toMachineProbe("have a folder of /var/lib, in which services keep data", () => findOpenFolder("/var/lib")),
      toProbe("have the host's /proc", () => ({
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
      toOtherProbe(
        "have another project by a symlink in the project",
        linkTo(({ host }) => host.otherProject),
      ),
      toOtherProbe("have it by a relative symlink, such as a repository can contain", linkTo("../../other")),
      toOtherProbe(
        "have it by a symlink in the middle of the path",
        async (lab) => `${await linkTo("../..")(lab)}/other`,
      ),
      toOtherProbe("have it by .. after a symlink", async (lab) => `${await linkTo("..")(lab)}/../other`),
      toOtherProbe("have it by a symlink to a symlink", async (lab) =>
        linkTo(await linkTo(({ host }) => host.otherProject)(lab))(lab),
      ),
    ],
  },
  {
    id: "allowed-roots",
    promise: "With --allow-root, a caller cannot get a directory outside the allowed roots.",
    protections: ["workspace-rules"],
    probes: [
      toOutsideProbe("have a directory beside the root", ({ host }) => host.otherProject),
      toOutsideProbe("have it by way of ..", ({ host }) => `${host.project}/../other`),
      toOutsideProbe(
        "have it by a symlink in the root",
        linkTo(({ host }) => host.otherProject),
      ),
      toOutsideProbe("have the parent directory of the root", ({ host }) => dirname(host.project)),
    ],
  },
  {
    id: "only-tighter",
    promise: "A caller cannot get more access or resources than its agent is configured with.",
    protections: ["tighter-policy"],
    probes: [
      toWishProbe("write to a read-only workspace", { workspace: "rw" }),
      toWishProbe("have a network", { egress: "bridge" }),
      toWishProbe("have more memory", { limits: { memoryBytes: 1024 ** 3 } }),
      toWishProbe("have more processes", { limits: { pids: 200 } }),
      toWishProbe("have more time", { timeoutMs: 3_600_000 }),
    ],
  },
  {
    id: "reported-hooks",
    promise: "A result names the agent's guard hooks that the sandbox hides.",
    protections: ["reported-hooks"],
    probes: GUARDS.map(toHookProbe),
  },
];

/** Creates a probe that works without a guard hook. An agent uses its tools even if a hook's file is missing. */
function toHookProbe({ command }: AgentHook): Probe {
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

function toSecretProbe(name: string, secret: SecretPath, toDirectory: ToDirectory): Probe {
  return toProbe(name, async (lab) => toSecretAttack(lab, secret, await toDirectory(lab)));
}

function toOutsideProbe(name: string, toDirectory: ToDirectory): Probe {
  return toProbe(name, async (lab) => ({
    ...toSecretAttack(lab, "code/other/secret.txt", await toDirectory(lab)),
    call: lab.callForProject,
  }));
}

function toWishProbe(name: string, tightening: Tightening): Probe {
  return toProbe(name, ({ host }) => ({
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

function toProbe(name: string, toAttack: (lab: Lab) => Attack | Promise<Attack>): Probe {
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

function toOtherProbe(name: string, toDirectory: ToDirectory): Probe {
  return toSecretProbe(name, "code/other/secret.txt", toDirectory);
}

/** Creates a probe of a directory of this machine, which shows only whether the directory has files. */
function toMachineProbe(name: string, toDirectory: ToDirectory): Probe {
  return toProbe(name, async (lab) => ({
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
function toSecretAttack({ host }: Lab, secret: SecretPath, directory: string): Attack {
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
