import { randomUUID } from "node:crypto";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Command } from "@budgie/core";
import { KIRO_HIDDEN_PATHS } from "@budgie/core/policy";
import type { Claim, Probe } from "../probe/claim.ts";
import { inSandbox } from "../probe/in-sandbox.ts";
import { collect } from "../lab/collect.ts";
import type { Lab } from "../lab/lab.ts";
import { PROTECTED_SWAPS } from "./swap-claims.ts";
import { judgeHidden } from "../probe/verdicts.ts";

const PLANTED = "a definition that nobody configured";

export const CONFIGURATION_CLAIMS: readonly Claim[] = [
  {
    id: "read-only-workspace",
    promise: "With --workspace ro, an agent cannot change anything in its workspace.",
    protections: ["read-only-mounts", "verified-mounts"],
    sharesTurn: true,
    probes: [
      makeChangeProbe("create a file", "echo x >created"),
      makeChangeProbe("create a folder", "mkdir made"),
      makeChangeProbe("change a file", "echo x >>readme.md"),
      makeChangeProbe("rename a file", "mv readme.md renamed"),
      makeChangeProbe("delete a file", "rm -f -- other.md && [ ! -e other.md ]"),
      makeChangeProbe("change a file's mode", "chmod 777 mine.sh"),
      makeChangeProbe("create a symlink", "ln -s readme.md link"),
    ],
  },
  {
    id: "kept-configuration",
    promise:
      "An agent cannot delete or replace the files of its user's ~/.kiro that it is shown, in its home or at their host path.",
    protections: ["read-only-mounts", "verified-mounts"],
    sharesTurn: true,
    probes: ["$HOME", "the host"].flatMap((place) => [
      makeSteeringProbe(`delete a steering file in ${place}`, place, 'rm -f "$file" && [ ! -e "$file" ]'),
      makeSteeringProbe(
        `rename another file over it in ${place}`,
        place,
        'echo x >"$file-new" && mv "$file-new" "$file"',
      ),
      makeSteeringProbe(`replace it with a symlink in ${place}`, place, 'ln -sf /workspace/readme.md "$file"'),
    ]),
  },
  {
    id: "own-definition",
    promise:
      "Neither a repository nor an agent can define an agent, MCP servers, settings, hooks or workflows for a later turn.",
    protections: ["hidden-agents", "verified-mounts"],
    probes: [
      makeHiddenProbe("see an agent that the repository defines", ".kiro/agents/reviewer.json"),
      makeHiddenProbe("see MCP servers that the repository defines", ".kiro/settings/mcp.json"),
      makeHiddenProbe("see hooks that the repository defines", ".kiro/hooks/start.json"),
      makeHiddenProbe("see a workflow that the repository defines", ".kiro/workflows/review.md"),
      makeHiddenProbe("see an agent that the repository defines in .amazonq", ".amazonq/cli-agents/reviewer.json"),
      makeHiddenProbe("see MCP servers that the repository defines in .amazonq", ".amazonq/mcp.json"),
      inSandbox("add an agent to those of the repository", async (lab) => ({
        directory: await plant(lab, ".kiro/agents/reviewer.json"),
        script: 'said=$( (echo x >.kiro/agents/mine.json) 2>&1 ) && through "it was added"; held "$said"',
      })),
      inSandbox("add an agent to a repository without any", async (lab) => ({
        directory: await plant(lab, ".kiro/steering/style.md"),
        script: scriptTry("mkdir -p .kiro/agents && echo x >.kiro/agents/mine.json"),
      })),
      inSandbox("replace the hidden folder with one of its own", async (lab) => ({
        directory: await plant(lab, ".kiro/agents/reviewer.json"),
        script: scriptTry("mv .kiro was && mkdir -p .kiro/agents && echo x >.kiro/agents/mine.json"),
      })),
      inSandbox("leave one in the repository for the next turn", async (lab) => {
        const directory = await lab.makeDirectory();
        const leave = `mkdir -p .kiro/agents && echo '${PLANTED}' >.kiro/agents/mine.json`;
        const { exit } = await lab.run(["/bin/sh", "-c", leave], { directory });
        return exit.exitCode === 0 ? { directory, script: scriptFind(".kiro") } : `untried "it could not be left"`;
      }),
      makeHomeProbe("leave an agent in its home for the next turn", "agents/mine.json"),
      makeHomeProbe("leave MCP servers in its home for the next turn", "settings/mcp.json"),
      makeHomeProbe("leave hooks in its home for the next turn", "hooks/start.json"),
      makeHomeProbe("leave a workflow in its home for the next turn", "workflows/review.md"),
      makeHomeProbe("leave permissions in its home for the next turn", "workspace-roots/mine/permissions.yaml"),
    ],
  },
  {
    id: "no-disguised-agents",
    promise: "A symlink or file in place of .kiro or .kiro/agents brings in no agent definition.",
    protections: ["hidden-agents", "verified-mounts"],
    probes: [
      makeDisguiseProbe("bring in definitions by a symlink at .kiro/agents", ".kiro/agents", "../definitions"),
      makeDisguiseProbe("bring in definitions by a symlink at .kiro", ".kiro", "definitions"),
      makeDisguiseProbe("bring in a definition by a file at .kiro/agents", ".kiro/agents", undefined),
    ],
  },
  {
    id: "protected-paths",
    promise: "With --protect-executable-paths, an agent cannot change or replace those paths.",
    protections: ["protected-paths", "verified-mounts"],
    sharesTurn: true,
    probes: [
      makeProtectedProbe("change a git hook", "echo x >>.git/hooks/pre-commit"),
      makeProtectedProbe("add a git hook", "echo x >.git/hooks/post-commit"),
      makeProtectedProbe("delete a git hook", "rm -f .git/hooks/pre-commit && [ ! -e .git/hooks/pre-commit ]"),
      makeProtectedProbe("rename the hooks folder", "mv .git/hooks hooks"),
      makeProtectedProbe("replace its parent folder", "mv .git git && mkdir -p .git/hooks"),
      ...PROTECTED_SWAPS,
    ],
  },
];

function makeChangeProbe(name: string, change: string): Probe {
  return inSandbox(name, async (lab) => {
    const directory = await lab.makeDirectory();
    for (const file of ["readme.md", "other.md", "mine.sh"]) await writeFile(join(directory, file), "x\n");
    return { directory, access: { workspace: "ro" }, script: scriptTry(change) };
  });
}

/** Creates a probe with a steering file of its own, so that probes do not affect each other. */
function makeSteeringProbe(name: string, place: string, change: string): Probe {
  return inSandbox(name, async ({ host }) => {
    const rule = `rule-${randomUUID()}.md`;
    await writeFile(join(host.path, ".kiro/steering", rule), "Write short sentences.\n");
    const folder = `${place === "$HOME" ? place : host.path}/.kiro/steering`;
    const setUp = `folder="${folder}"; file="$folder/${rule}"; [ -e "$file" ] || untried "it is not shown"`;
    return `${setUp}\n${scriptTry(change)}`;
  });
}

function makeHiddenProbe(name: string, path: string): Probe {
  return inSandbox(name, async (lab) => ({ directory: await plant(lab, path), script: scriptFind(".kiro .amazonq") }));
}

function makeHomeProbe(name: string, path: string): Probe {
  const [folder, file] = [dirname(path), `"$HOME/.kiro/${path}"`];
  return inSandbox(name, async (lab) => {
    const session = await lab.open();
    const leave = `cd "$HOME/.kiro" && mv ${folder} "$HOME/was" || mv "$HOME/.kiro" "$HOME/was"
      mkdir -p "$HOME/.kiro/${folder}" && echo '${PLANTED}' >${file}`;
    const { exit } = await lab.run(["/bin/sh", "-c", leave], { session });
    return exit.exitCode === 0 ? { session, script: scriptFind(file) } : `untried "it could not be left"`;
  });
}

function scriptFind(places: string): string {
  return `if grep -rqs '${PLANTED}' ${places}; then through "it is there"; fi; held "it is hidden"`;
}

/** Creates a repository that contains a definition at this path. */
async function plant(lab: Lab, path: string): Promise<string> {
  const directory = await lab.makeDirectory();
  await mkdir(join(directory, dirname(path)), { recursive: true });
  await writeFile(join(directory, path), PLANTED);
  return directory;
}

function makeDisguiseProbe(name: string, path: string, target: string | undefined): Probe {
  return {
    name,
    async attempt(lab) {
      const directory = await lab.makeDirectory();
      await mkdir(join(directory, "definitions/agents"), { recursive: true });
      for (const folder of ["", "agents/"]) await writeFile(join(directory, "definitions", folder, "x.json"), PLANTED);
      if (path !== ".kiro") await mkdir(join(directory, ".kiro"));
      if (target === undefined) await writeFile(join(directory, path), PLANTED);
      else await symlink(target, join(directory, path));
      const script = "cat .kiro/agents .kiro/agents/x.json 2>/dev/null";
      const session = await lab.open();
      const argv = ["/bin/sh", "-c", `${script}; echo over`] as const;
      const command: Command = { argv, env: {}, projections: [], hidden: KIRO_HIDDEN_PATHS };
      const output = session
        .start(command, { directory, input: "" })
        .then(async (child) => (await collect(child)).stdout);
      return judgeHidden(output, PLANTED);
    },
  };
}

function makeProtectedProbe(name: string, change: string): Probe {
  return inSandbox(name, async (lab) => {
    const directory = await lab.makeDirectory();
    await mkdir(join(directory, ".git/hooks"), { recursive: true });
    await writeFile(join(directory, ".git/hooks/pre-commit"), "#!/bin/sh\n");
    return { directory, protectedPaths: [".git/hooks"], script: scriptTry(change) };
  });
}

function scriptTry(change: string): string {
  return `said=$( { ${change}; } 2>&1 ) && through "it was done"; held "$said"`;
}
