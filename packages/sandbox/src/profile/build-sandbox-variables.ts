import { CA_ENV, JAVA_TRUST, PROXY_ENV } from "./proxy-environment.ts";
import { SANDBOX } from "./sandbox-paths.ts";
import type { SandboxUser } from "./sandbox-user.ts";

/** The parts of a sandbox that its variables depend on. */
export type VariablesOf = {
  readonly user: SandboxUser;
  /** The names that are reached without the proxy; `undefined` for a sandbox that has no proxy */
  readonly direct: readonly string[] | undefined;
  /** Paths of the user's certificates in the sandbox; `undefined` for the image's own */
  readonly trust: { readonly pem: string; readonly java: string } | undefined;
  /** More variables, which may replace the sandbox's own but not those of its network; default none */
  readonly variables?: Readonly<Record<string, string>> | undefined;
};

/** Builds the environment variables of a sandbox, besides those of its command. */
export function buildSandboxVariables(of: VariablesOf): Record<string, string> {
  const { direct, trust, variables = {} } = of;
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
  const proxy = direct === undefined ? {} : buildProxy(direct);
  const certificates =
    trust === undefined ? {} : Object.fromEntries(Object.keys(CA_ENV).map((name) => [name, trust.pem]));
  const java = [proxy["JAVA_TOOL_OPTIONS"] ?? [], trust === undefined ? [] : JAVA_TRUST + trust.java].flat().join(" ");
  const options = java === "" ? {} : { JAVA_TOOL_OPTIONS: java };
  return { ...own, ...variables, ...proxy, ...certificates, ...options };
}

/** Builds the variables that name the proxy, and what is reached without it. */
function buildProxy(names: readonly string[]): Readonly<Record<string, string>> {
  const direct = [PROXY_ENV["NO_PROXY"], ...names].join(",");
  return { ...PROXY_ENV, NO_PROXY: direct, no_proxy: direct };
}
