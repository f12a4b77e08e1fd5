import { BudgieError } from "@budgie/core";
import { refuseOnCluster } from "./refuse-on-cluster.ts";
import type { ServerConfig } from "./server-config.ts";
import type { Host } from "../process/host.ts";

/**
 * Checks the sandbox options. Throws `CONFIG_INVALID` for them without `--sandbox`. With it, throws for agents elsewhere without
 * `allowRemote`, for settings that a cluster cannot serve, and for root without `--allow-root`, since root may use every directory.
 */
export function checkSandboxOptions(config: ServerConfig, { uid }: Pick<Host, "uid">): void {
  const { allowRoot, sandbox } = config;
  if (!sandbox) return refuseWithoutSandbox(config);
  if (config.cluster !== undefined) refuseOnCluster({ ...config, cluster: config.cluster });
  const [remote] = findRefusedRemotes(config);
  if (remote !== undefined) throw new BudgieError("CONFIG_INVALID", remote);
  if (uid !== 0 || allowRoot.length > 0) return;
  throw new BudgieError(
    "CONFIG_INVALID",
    "Started by root, --sandbox needs --allow-root, since root may use any directory of this machine. Allow the directories that calls may work in, or start budgie as an ordinary user.",
  );
}

/** Returns a sentence for each agent elsewhere, and for a backend, that keeps a server with `--sandbox` from starting. */
export function findRefusedRemotes({ configuredAgents = [], kagent, sandbox }: ServerConfig): readonly string[] {
  if (!sandbox) return [];
  const found = configuredAgents.filter(({ remote }) => remote?.allowRemote === false);
  return [
    ...(kagent?.allowRemote === false ? [REFUSED_KAGENT] : []),
    ...found.map(
      ({ file, name }) =>
        `The agent "${name}" (${file}) runs elsewhere, where --sandbox does not hold it. Add "allowRemote": true to its section, or take it out.`,
    ),
  ];
}

const REFUSED_KAGENT =
  'The agents of "kagent" run elsewhere, where --sandbox does not hold them. Add "allowRemote": true to it, or take it out.';

function refuseWithoutSandbox({
  acceptWeaker,
  allowMcp: [server],
  caFile,
  credentials,
  protectExecutablePaths,
  runtime,
}: ServerConfig): void {
  if (caFile !== undefined) {
    throw new BudgieError(
      "CONFIG_INVALID",
      `--ca-file "${caFile}" needs --sandbox: without one agents trust what this machine trusts. Add --sandbox, or leave it out.`,
    );
  }
  if (protectExecutablePaths) {
    throw new BudgieError(
      "CONFIG_INVALID",
      "--protect-executable-paths needs --sandbox: without one agents can write whatever you can. Add --sandbox, or leave it out.",
    );
  }
  if (credentials !== "full") {
    throw new BudgieError(
      "CONFIG_INVALID",
      `--credentials ${credentials} needs --sandbox: without one agents have your own login. Add --sandbox, or leave --credentials out.`,
    );
  }
  if (acceptWeaker.length > 0) {
    throw new BudgieError(
      "CONFIG_INVALID",
      `--accept-weaker ${acceptWeaker.join(",")} needs --sandbox: without one there is no protection at all. Add --sandbox, or leave it out.`,
    );
  }
  if (server !== undefined) {
    throw new BudgieError(
      "CONFIG_INVALID",
      `--allow-mcp ${server} needs --sandbox: without one Kiro starts all servers that an agent's file names. Add --sandbox, or leave it out.`,
    );
  }
  if (runtime === undefined) return;
  throw new BudgieError(
    "CONFIG_INVALID",
    `--runtime "${runtime}" needs --sandbox: without one there is no container. Add --sandbox, or leave --runtime out.`,
  );
}

/** Throws `LOGIN_REQUIRED` for `--credentials api-key` without a key. */
export function refuseMissingKey({ credentials, sandbox }: ServerConfig, { env }: Pick<Host, "env">): void {
  if (!sandbox || credentials !== "api-key" || Object.keys(pickSandboxSecrets(credentials, env)).length > 0) return;
  throw new BudgieError(
    "LOGIN_REQUIRED",
    "KIRO_API_KEY is not set, and --credentials api-key hands over nothing else. Set it where budgie is started, or choose another of --credentials.",
  );
}

/** Returns the secret environment variables of a sandbox. It gets no other variable of the host. */
export function pickSandboxSecrets(
  credentials: ServerConfig["credentials"],
  env: Host["env"],
): Readonly<Record<string, string>> {
  const apiKey = env["KIRO_API_KEY"];
  switch (credentials) {
    case "full":
    case "api-key":
      // An empty variable counts as unset.
      return apiKey ? { KIRO_API_KEY: apiKey } : {};
    // These choices keep lasting credentials, such as a key, out of the sandbox.
    case "access-token":
    case "none":
      return {};
  }
}

/** Returns the proxy of this machine, if it has one. */
export function findUpstreamProxy(env: Host["env"]): string | undefined {
  const { ALL_PROXY, all_proxy, HTTPS_PROXY, https_proxy } = env;
  // An empty variable counts as unset. ALL_PROXY often has another scheme, such as socks5.
  return HTTPS_PROXY || https_proxy || [ALL_PROXY, all_proxy].find((url = "") => /^https?:/i.test(url));
}
