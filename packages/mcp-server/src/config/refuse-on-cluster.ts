import { BudgieError } from "@budgie/core";
import type { ClusterSection, ServerConfig } from "./server-config.ts";
import type { Settings } from "./settings.ts";

type ForCluster = Pick<ServerConfig, "configuredAgents" | "mcp" | "policies" | "workspaces"> & {
  readonly cluster: ClusterSection;
};

/** The images of a sandbox on a cluster. */
type Images = { readonly image: string; readonly sidecarImage: string };

/** Returns the images. Throws `CONFIG_INVALID` for a missing one, and for a setting that no cluster can serve. */
export function refuseOnCluster(config: ForCluster): Images {
  const { cluster, mcp, policies, workspaces } = config;
  const access = [policies, ...workspaces.map((one) => one.policies)];
  const [refused] = [...access.flatMap(listAccess), ...listServers(mcp), ...workspaces.flatMap(listKeys)];
  if (refused !== undefined) throw new BudgieError("CONFIG_INVALID", refused);
  const { image, sidecarImage } = cluster;
  refuseOtherImage(config);
  if (image === undefined) throw missing("--sandbox-image", "an image with your agents");
  if (sidecarImage === undefined) throw missing('"kubernetesSidecarImage"', "budgie's own image");
  return { image, sidecarImage };
}

/** Refuses an agent's or directory's own image: all sandboxes of a cluster have one. */
function refuseOtherImage({ cluster, configuredAgents = [], workspaces }: ForCluster): void {
  const named = [
    ...configuredAgents.map(({ name, program }) => [`the agent "${name}"`, program?.image] as const),
    ...workspaces.flatMap(({ agents, directory, image }) => [
      [`"${directory}"`, image] as const,
      ...[...agents].map(([name, needs]) => [`the agent "${name}" in "${directory}"`, needs.image] as const),
    ]),
  ];
  const found = named.find(([, image]) => image !== undefined && image !== cluster.image);
  if (found === undefined) return;
  throw new BudgieError(
    "CONFIG_INVALID",
    `The image "${found[1]}" of ${found[0]} in the configuration file needs --runner docker: on a cluster all sandboxes have that of --sandbox-image. Take it out.`,
  );
}

function missing(option: string, what: string): BudgieError {
  return new BudgieError(
    "CONFIG_INVALID",
    `--runner kubernetes needs ${option}: ${what}, under a name by which the cluster fetches it. "budgie image push REGISTRY/NAME" pushes both images, and prints what to set.`,
  );
}

/** Lists the accesses that need this machine beside the sandbox. */
function listAccess({ agents, ceiling }: Settings["policies"]): readonly string[] {
  const all = [ceiling, ...agents.values()];
  return [
    ...(all.some(({ workspace }) => workspace === "rw") ? [IN_PLACE] : []),
    ...(all.some(({ egress }) => egress.mode === "bridge") ? [BRIDGE] : []),
  ];
}

const IN_PLACE =
  '--workspace rw needs --runner docker: a cluster sees no directory of this machine. Leave it out for "copy".';
const BRIDGE =
  "--egress bridge needs --runner docker: on a cluster only budgie's proxy leads out of a sandbox. Choose another of --egress.";

/** Lists the MCP servers that are to have a sandbox of their own. */
function listServers(mcp: ForCluster["mcp"]): readonly string[] {
  const named = [...mcp].flatMap(([agent, servers]) =>
    [...servers].flatMap(([name, { run }]) => (run === "sandbox" ? [`"agents.${agent}.mcp.${name}.run"`] : [])),
  );
  return named.map(
    (key) =>
      `${key} of the configuration file is "sandbox", and on a cluster no MCP server has a sandbox of its own. Set it to "host", or take the server out.`,
  );
}

const KEYS = [
  ["mounts", "a cluster sees no path of this machine"],
  ["cache", "on a cluster no download outlives its session"],
  ["services", "on a cluster no service runs beside a sandbox"],
  ["subfolderGit", "it takes the objects from this machine"],
  ["requireImage", "a project's own image is on this machine's engine"],
] as const;

/** Lists the keys of a directory's section that need a container engine. */
function listKeys({ directory, ...section }: Settings["workspaces"][number]): readonly string[] {
  const isSet = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value));
  return KEYS.filter(([key]) => isSet(section[key])).map(
    ([key, why]) => `"${key}" of "${directory}" in the configuration file needs --runner docker: ${why}. Take it out.`,
  );
}
