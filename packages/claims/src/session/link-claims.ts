import { randomUUID } from "node:crypto";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import type { Claim, Probe } from "../probe/claim.ts";
import { inSandbox } from "../probe/in-sandbox.ts";
import type { Lab } from "../lab/lab.ts";

const SECRET = ".ssh/id_rsa";

export const LINK_CLAIMS: readonly Claim[] = [
  {
    id: "links-end-inside",
    promise: "A symlink in the workspace, created before or during a turn, gives no access to files of the host.",
    protections: ["mounts"],
    sharesTurn: true,
    probes: [
      makeGivenProbe("read through an absolute symlink of the repository", ({ host }) => `${host.path}/${SECRET}`),
      makeGivenProbe("read through a relative symlink of the repository", () => `../${SECRET}`),
      makeGivenProbe(
        "read through a symlink by way of /proc/self/root",
        ({ host }) => `/proc/self/root${host.path}/${SECRET}`,
      ),
      makeGivenProbe("read through a symlink by way of /proc/self/cwd", () => `/proc/self/cwd/../${SECRET}`),
      makeGivenProbe("read through a symlink by way of /proc/self/fd", () => `/proc/self/fd/9/../${SECRET}`),
      makeOwnProbe("read through an absolute symlink of its own", ({ host }) => `${host.path}/${SECRET}`),
      makeOwnProbe("read through a relative symlink of its own", () => `../${SECRET}`),
      makeWriteProbe("write through an absolute symlink of its own", ({ host }) => `${host.path}/.ssh/authorized_keys`),
      makeWriteProbe("write through a relative symlink of its own", () => "../.ssh/authorized_keys"),
    ],
  },
  {
    id: "no-hard-links-out",
    promise: "An agent cannot create hard links between its workspace, its home and the files it is shown.",
    protections: ["own-mounts"],
    sharesTurn: true,
    probes: [
      makeHardLinkProbe(
        "hard-link a steering file into its workspace",
        '"$HOME/.kiro/steering/style.md"',
        "linked-steering.md",
      ),
      makeHardLinkProbe(
        "hard-link its own definition into its workspace",
        '"$HOME/.kiro/agents/reviewer.json"',
        "linked.json",
      ),
      makeHardLinkProbe(
        "hard-link a steering file into its home",
        '"$HOME/.kiro/steering/style.md"',
        '"$HOME/linked.md"',
      ),
      makeHardLinkProbe("hard-link a file of the workspace into its home", "readme.md", '"$HOME/linked-readme.md"'),
    ],
  },
];

type ToTarget = (lab: Lab) => string;

/** Creates a probe that reads through a symlink which existed before the turn. */
function makeGivenProbe(name: string, toTarget: ToTarget): Probe {
  return inSandbox(name, async (lab) => {
    const directory = await lab.makeDirectory();
    const link = nameLink();
    await symlink(toTarget(lab), join(directory, link));
    return { directory, script: scriptRead(lab, link) };
  });
}

function makeOwnProbe(name: string, toTarget: ToTarget): Probe {
  return inSandbox(name, async (lab) => {
    const link = nameLink();
    return {
      directory: await lab.makeDirectory(),
      script: `${scriptLink(lab, toTarget, link)}\n${scriptRead(lab, link)}`,
    };
  });
}

/** Names a link that no other probe of its directory meets. */
function nameLink(): string {
  return `link-${randomUUID()}`;
}

function scriptLink(lab: Lab, toTarget: ToTarget, link: string): string {
  return `ln -s '${toTarget(lab)}' ${link} || untried "the link could not be made"`;
}

function scriptRead({ host }: Lab, link: string): string {
  return `
    exec 9<.
    if grep -aqsF '${host.canaries[SECRET]}' ${link}; then through "it was read"; fi
    held "$(cat ${link} 2>&1 >/dev/null)"`;
}

function makeWriteProbe(name: string, toTarget: ToTarget): Probe {
  return inSandbox(name, async (lab) => {
    const link = nameLink();
    const write = `said=$( (echo probe >${link}) 2>&1 ) && through "it was written"; held "$said"`;
    return { directory: await lab.makeDirectory(), script: `${scriptLink(lab, toTarget, link)}\n${write}` };
  });
}

function makeHardLinkProbe(name: string, source: string, target: string): Probe {
  return inSandbox(
    name,
    `[ -f ${source} ] || untried "there is no ${source.replaceAll('"', "")}"
    said=$(ln ${source} ${target} 2>&1) && through "it was made"; held "$said"`,
  );
}
