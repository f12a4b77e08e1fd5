import { mkdtemp, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { RunTurn, Tightening } from "@budgie/core";
import type { Claim, Probe, Verdict } from "./claim.ts";
import type { Lab } from "./lab.ts";
import type { SecretPath } from "./made-up-home.ts";
import { toRefusal } from "./verdicts.ts";

type ToDirectory = (lab: Lab) => string | Promise<string>;

export const CALLER_CLAIMS: readonly Claim[] = [
  {
    id: "guarded-directories",
    promise: "No caller gets a directory that holds a secret of the user's, the engine's socket or budgie's state.",
    walls: ["workspace-rules"],
    probes: [
      toSecretProbe("have the root directory", ".ssh/id_rsa", () => "/"),
      toSecretProbe("have the directory above the home", ".ssh/id_rsa", ({ root }) => root),
      toSecretProbe("have the home", ".ssh/id_rsa", inHome("")),
      toSecretProbe("have ~/.kiro", ".kiro/settings/mcp.json", inHome(".kiro")),
      toSecretProbe("have ~/.ssh", ".ssh/id_rsa", inHome(".ssh")),
      toSecretProbe("have a folder in ~/.aws", ".aws/sso/cache/kiro-mcp-oauth.json", inHome(".aws/sso/cache")),
      toSecretProbe("have a folder in ~/.gnupg", ".gnupg/private-keys-v1.d/key", inHome(".gnupg/private-keys-v1.d")),
      toSecretProbe("have budgie's state", "../own/secret.txt", ({ host }) => host.stateDir),
      toSecretProbe("have Kiro's database", ".local/share/kiro-cli/data.sqlite3", ({ host }) => host.kiroDataDir),
      toSecretProbe(
        "have ~/.ssh by a link in the project",
        ".ssh/id_rsa",
        linkTo(({ host }) => `${host.path}/.ssh`),
      ),
      toSecretProbe("have ~/.ssh by way of ..", ".ssh/id_rsa", ({ host }) => `${host.project}/../../.ssh`),
      toProbe("have the folder of the engine's socket", (lab) => ({
        directory: dirname(lab.runner.guarded[0]?.path ?? ""),
        script: 'for file in *; do if [ -S "$file" ]; then echo "a socket: $file"; fi; done',
        evidence: "a socket",
      })),
      toProbe("have the host's /proc", () => ({
        directory: "/proc",
        script: `[ -d ./${process.pid} ] && echo "a process"`,
        evidence: "a process",
      })),
    ],
  },
  {
    id: "allowed-roots",
    promise: "With --allow-root no caller gets a directory outside of it.",
    walls: ["workspace-rules"],
    probes: [
      toOutsideProbe("have a directory beside the root", ({ host }) => host.otherProject),
      toOutsideProbe("have it by way of ..", ({ host }) => `${host.project}/../other`),
      toOutsideProbe(
        "have it by a link in the root",
        linkTo(({ host }) => host.otherProject),
      ),
      toOutsideProbe("have the directory above the root", ({ host }) => dirname(host.project)),
    ],
  },
  {
    id: "only-tighter",
    promise: "No caller gets more than its agent is configured to have.",
    walls: ["tighter-policy"],
    probes: [
      toWishProbe("write to a read-only workspace", { workspace: "rw" }),
      toWishProbe("have a network", { egress: "bridge" }),
      toWishProbe("have more memory", { limits: { memoryBytes: 1024 ** 3 } }),
      toWishProbe("have more processes", { limits: { pids: 200 } }),
      toWishProbe("have more time", { timeoutMs: 3_600_000 }),
    ],
  },
];

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
  /** In what the script says where it got through */
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
      return toRefusal(output, evidence, [tightening === undefined ? "WORKSPACE_INVALID" : "INPUT_INVALID"]);
    },
  };
}

/** Reads the secret wherever the home is in the directory, and however deep in the home the directory is. */
function toSecretAttack({ host }: Lab, secret: SecretPath, directory: string): Attack {
  const parts = join(host.path, secret).split("/").slice(1);
  const places = parts.map((_, index) => `'./${parts.slice(index).join("/")}'`);
  const script = `cat ${places.join(" ")} 2>/dev/null | tr -cd '[:print:]'`;
  return { directory, script, evidence: host.canaries[secret] };
}

function inHome(folder: string): ToDirectory {
  return ({ host }) => join(host.path, folder);
}

/** A link in the project, which is made first. */
function linkTo(toTarget: (lab: Lab) => string): ToDirectory {
  return async (lab) => {
    const path = join(await mkdtemp(join(lab.host.project, "links-")), "link");
    await symlink(toTarget(lab), path);
    return path;
  };
}
