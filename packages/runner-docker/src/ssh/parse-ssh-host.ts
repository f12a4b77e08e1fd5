import { BudgieError } from "@budgie/core";

/** A machine with an engine, as the user's ssh knows it. */
export type SshHost = {
  /** A name, an alias of the user's ssh configuration, or an address */
  readonly name: string;
  /** `undefined` for the one of the user's ssh configuration */
  readonly user: string | undefined;
  /** As above */
  readonly port: number | undefined;
  /** The engine's socket there; `undefined` for the one that `docker` uses there */
  readonly socketPath: string | undefined;
};

// Nothing that a shell, an option's beginning or a token of ssh's configuration could be made of.
const USER = /^\w[\w.+-]{0,63}$/;
const NAME = /^(?:\w[\w.-]{0,252}|[\da-fA-F:]{1,40}:[\da-fA-F:.]{0,40})$/;
const SOCKET = /^\/[\w./+-]{1,255}$/;
const PARTS = /^(?:([^@/]{1,300})@)?(\[[^\]/]{1,100}\]|[^@:/[\]]{1,300})(?::(\d{1,5}))?(\/.{0,300})?$/;
const MOST_PORTS = 65_535;

/** Parses `ssh://[user@]host[:port][/path of a socket]`. Throws `CONFIG_INVALID`, without the text, which may hold a password. */
export function parseSshHost(url: string, foundBy: string): SshHost {
  const [, user, host = "", port, path] = PARTS.exec(url.slice("ssh://".length)) ?? [];
  const name = host.replace(/^\[|\]$/g, "");
  const socketPath = path === "/" ? undefined : path;
  const problem = findProblem({ name, user, port, socketPath });
  if (problem === undefined) return { name, user, port: port === undefined ? undefined : Number(port), socketPath };
  throw new BudgieError(
    "CONFIG_INVALID",
    `Cannot use the ssh:// address from ${foundBy}: ${problem}. Give it as ssh://[user@]host[:port][/path/of/a/socket], ` +
      `and put the rest into ~/.ssh/config.`,
  );
}

type HostParts = Omit<SshHost, "port"> & { readonly port: string | undefined };

function findProblem({ name, port = "22", socketPath = "/any", user = "any" }: HostParts): string | undefined {
  if (user.includes(":")) return "it holds a password, and budgie uses keys only";
  if (!USER.test(user)) return "its user has characters that budgie passes to no shell";
  if (!NAME.test(name)) return "it has no host, or one with characters that budgie passes to no shell";
  if (Number(port) === 0 || Number(port) > MOST_PORTS) return "there is no such port";
  return SOCKET.test(socketPath) ? undefined : "its path has characters that budgie passes to no shell";
}

/** Formats a machine as a person would type it after `ssh`. */
export function formatSshHost({ name, port, user }: SshHost): string {
  return `${port === undefined ? "" : `-p ${port} `}${user === undefined ? "" : `${user}@`}${name}`;
}
