import { realpathSync } from "node:fs";
import { BudgieError } from "@budgie/core";
import { parseBudget } from "@budgie/core/budget";
import type { Policy } from "@budgie/core/policy";
import { listHosts } from "@budgie/egress/allow-list";
import type { WorkspaceSettings } from "@budgie/mcp-server";
import type { AgentSection, FileWorkspace } from "./config-file.ts";
import { buildPolicies, narrowBySection, type PolicyOptions } from "./build-policies.ts";
import { needsSandbox } from "./parse-egress-ceiling.ts";

/** Returns the settings of directories, the longest path first. Throws `CONFIG_INVALID` for what cannot be enforced. */
export function buildWorkspaces(
  workspaces: readonly FileWorkspace[],
  options: PolicyOptions,
): readonly WorkspaceSettings[] {
  const built = workspaces.map((workspace) => buildWorkspace(workspace, options));
  return built.toSorted((one, other) => other.directory.length - one.directory.length);
}

function buildWorkspace(workspace: FileWorkspace, options: PolicyOptions): WorkspaceSettings {
  const { agents, budget, cache, env, image, limits, mounts, path, requireImage, services, subfolderGit } = workspace;
  const { file = "", sandbox } = options;
  const key = `workspaces.${JSON.stringify(path)}`;
  const [unenforced] = (["allowHost", "allowPreset", "limits", "mounts", "requireImage", "services"] as const).filter(
    (name) => workspace[name] !== undefined,
  );
  if (!sandbox && unenforced !== undefined) throw needsSandbox(`"${key}.${unenforced}" in "${file}"`);
  const ceiling = { ...options.ceiling, ...widen(workspace, { ...options, key }) };
  // A section of an agent for all directories must not ask for more than this directory may have.
  const sections = new Map([...options.sections].map(([name, section]) => [name, cap(section, limits)]));
  const { agents: general } = buildPolicies({ ...options, ceiling, sections });
  const own = [...agents].map(([name, { section }]): [string, Policy] => [
    name,
    narrowBySection(general.get(name) ?? ceiling, { ...options, agent: name, section, key: `${key}.agents.${name}` }),
  ]);
  return {
    directory: resolveLinks(workspace.directory),
    env,
    image,
    mounts: mounts?.map((named) => ({
      named,
      path: resolveLinks(named),
      option: `"${key}.mounts" in "${file}"`,
    })),
    workspacePath: choosePath(workspace, `"${key}.workspacePath" in "${file}"`),
    subfolderGit,
    cache,
    services,
    requireImage,
    ...(budget === undefined ? {} : { budget: parseBudget(budget) }),
    policies: { ceiling, agents: new Map([...general, ...own]) },
    agents: new Map([...agents].map(([name, { needs }]) => [name, needs])),
  };
}

/** Chooses the path of a directory in its sandboxes. A subfolder's git works where the repository's directory is around it there too. */
function choosePath({ subfolderGit, workspacePath }: FileWorkspace, option: string): FileWorkspace["workspacePath"] {
  if (subfolderGit !== true || workspacePath === "same") return workspacePath;
  if (workspacePath === undefined) return "same";
  throw new BudgieError(
    "CONFIG_INVALID",
    `The option ${option} is "${workspacePath}", and with "subfolderGit" a directory has its own path. Set it to "same", or remove it.`,
  );
}

type Widened = PolicyOptions & { readonly key: string };

/** Returns the limits and the network of a directory: its own limits replace those of all, and its hosts are added to theirs. */
function widen(
  { allowHost, allowPreset, limits }: FileWorkspace,
  { ceiling, file = "", key }: Widened,
): Pick<Policy, "egress" | "limits"> {
  const { egress } = ceiling;
  const merged = { ...ceiling.limits, ...limits };
  if (allowHost === undefined && allowPreset === undefined) return { egress, limits: merged };
  if (egress.mode !== "allowlist") {
    throw new BudgieError(
      "CONFIG_INVALID",
      `The file "${file}" allows hosts in ${key}, and with the egress mode "${egress.mode}" no allow-list counts. Set "egress" to "allowlist", or remove them.`,
    );
  }
  const sources = { allowHost: `"${key}.allowHost" in "${file}"`, allowPreset: `"${key}.allowPreset" in "${file}"` };
  const added = listHosts({ allowHost: allowHost ?? [], allowPreset: allowPreset ?? [] }, sources);
  const isKnown = ({ host, port }: (typeof added)[number]): boolean =>
    egress.hosts.some((entry) => entry.host === host && entry.port === port);
  return { egress: { ...egress, hosts: [...egress.hosts, ...added.filter((host) => !isKnown(host))] }, limits: merged };
}

function cap(section: AgentSection, limits: FileWorkspace["limits"]): AgentSection {
  const capped = Object.entries(section.limits ?? {}).map(([name, value]) => [
    name,
    value && Math.min(value, limits?.[name as keyof typeof limits] ?? Infinity),
  ]);
  return { ...section, limits: Object.fromEntries(capped) as AgentSection["limits"] };
}

/** Resolves the symlinks of a path that exists, once: an agent that can write beside a symlink could point it elsewhere later. */
export function resolveLinks(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}
