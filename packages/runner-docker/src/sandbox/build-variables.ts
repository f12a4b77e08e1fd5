import { CA_ENV, JAVA_TRUST, JAVA_TRUST_STORE, PROXY_ENV, SANDBOX, type SandboxUser } from "@budgie/sandbox/profile";

/** The parts of a sandbox that its variables depend on. */
type VariablesOf = {
  readonly caFile: string | undefined;
  readonly forwarder?: readonly string[] | undefined;
  readonly network: string;
  readonly services?: { readonly hosts: readonly string[] } | undefined;
  readonly user: SandboxUser;
  readonly variables?: Readonly<Record<string, string>>;
};

/** Builds the environment variables of a sandbox, besides those of its command. */
export function buildVariables(of: VariablesOf): Record<string, string> {
  const { caFile, variables = {} } = of;
  const user = of.user.uid === 0 ? "root" : "agent";
  const own = {
    HOME: SANDBOX.home,
    USER: user,
    LOGNAME: user,
    LANG: "C.UTF-8",
    // An image may set these to other folders, which are not writable and lack the login.
    XDG_DATA_HOME: `${SANDBOX.home}/.local/share`,
    XDG_CONFIG_HOME: `${SANDBOX.home}/.config`,
    XDG_CACHE_HOME: `${SANDBOX.home}/.cache`,
    XDG_STATE_HOME: `${SANDBOX.home}/.local/state`,
  };
  const proxy = buildProxy(of);
  const certificates = caFile === undefined ? {} : CA_ENV;
  const java = [proxy["JAVA_TOOL_OPTIONS"] ?? [], caFile === undefined ? [] : JAVA_TRUST + JAVA_TRUST_STORE]
    .flat()
    .join(" ");
  const options = java === "" ? {} : { JAVA_TOOL_OPTIONS: java };
  return { ...own, ...variables, ...proxy, ...certificates, ...options };
}

/** Builds the variables that name the proxy, if there is one, and what is reached without it. */
function buildProxy({ forwarder, network, services }: VariablesOf): Readonly<Record<string, string>> {
  if (forwarder === undefined && !network.startsWith("container:")) return {};
  const names = services?.hosts.map((host) => host.split(":", 1)[0]) ?? [];
  const direct = [PROXY_ENV["NO_PROXY"], ...names].join(",");
  return { ...PROXY_ENV, NO_PROXY: direct, no_proxy: direct };
}
