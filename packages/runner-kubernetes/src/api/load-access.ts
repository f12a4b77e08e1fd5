import type { Agent, RequestOptions } from "node:https";
import type { KubeConfig } from "@kubernetes/client-node";
import { BudgieError } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
import type { ExecOptions } from "../wire/index.ts";
import { quote } from "./parse-object.ts";

/** The way to a cluster, and who asks. */
export type Access = {
  readonly context: string;
  readonly namespace: string;
  readonly server: URL;
  /** Returns the credentials of now. `isFresh` asks for new ones, since the last were not accepted */
  readonly login: (options?: { readonly isFresh?: boolean }) => Promise<Login>;
};

/** Credentials for a connection. */
type Login = NonNullable<ExecOptions["login"]> & {
  /** The way through a proxy, if the kubeconfig names one */
  readonly agent?: Agent | undefined;
};

export type ClusterOptions = {
  /** Path of the kubeconfig; default: what `KUBECONFIG` names, `~/.kube/config`, or that of the Pod that budgie runs in */
  readonly kubeconfig?: string | undefined;
  /** Default: the kubeconfig's current one */
  readonly context?: string | undefined;
  /** Default: the context's, else `default` */
  readonly namespace?: string | undefined;
};

const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"];
// A plugin may ask a person to log in, and may hang.
const LOGIN_MS = 60_000;

/** Reads a kubeconfig. Refuses a cluster whose certificate would not be checked. */
export async function loadAccess(options: ClusterOptions): Promise<Access> {
  let config = await loadConfig(options);
  const context = config.getCurrentContext();
  const server = checkServer(config);
  return {
    context,
    server,
    namespace: options.namespace ?? config.getContextObject(context)?.namespace ?? "default",
    async login({ isFresh = false } = {}) {
      // Its plugins keep their answers in it.
      if (isFresh) config = await loadConfig(options);
      if (checkServer(config).href !== server.href)
        throw configError("names another server than before", "Start budgie again.");
      return await readLogin(config, server);
    },
  };
}

async function loadConfig({ context, kubeconfig }: ClusterOptions): Promise<KubeConfig> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (cause) {
    // The parser's message may quote a credential.
    throw configError(
      `cannot be read (${(cause as NodeJS.ErrnoException).code ?? "it is malformed"})`,
      "Check the file.",
    );
  }
  // The library's answer to no kubeconfig at all.
  if (config.getCurrentContext() === "loaded-context") throw configError("is missing", "Name one, or set KUBECONFIG.");
  if (context !== undefined) config.setCurrentContext(context);
  return config;
}

/** The contexts of a kubeconfig. Whoever wrote the file chose their names. */
export type Contexts = {
  readonly names: readonly string[];
  /** `undefined` if there is none of this name */
  readonly current: string | undefined;
};

/** Reads the contexts of a kubeconfig. */
export async function listContexts({ kubeconfig }: Pick<ClusterOptions, "kubeconfig">): Promise<Contexts> {
  const config = await loadConfig({ kubeconfig });
  const names = config.getContexts().map(({ name }) => name);
  const current = config.getCurrentContext();
  return { names, current: names.includes(current) ? current : undefined };
}

function checkServer(config: KubeConfig): URL {
  const cluster = config.getCurrentCluster();
  const context = quote(config.getCurrentContext() ?? "");
  if (!cluster || !URL.canParse(cluster.server)) {
    throw configError(`has no cluster with a server in its context "${context}"`, "Choose another context.");
  }
  const url = new URL(cluster.server);
  if (cluster.skipTLSVerify === true) throw insecureError("with insecure-skip-tls-verify");
  const isSecure = url.protocol === "https:" || (url.protocol === "http:" && LOOPBACK.includes(url.hostname));
  if (!isSecure) throw insecureError("without TLS");
  return url;
}

async function readLogin(config: KubeConfig, server: URL): Promise<Login> {
  const options: RequestOptions = { headers: {} };
  const ask = config.applyToHTTPSOptions(options).catch((cause: unknown) => {
    // It has set everything by then, and has no agent for a server of this machine without TLS.
    if (server.protocol === "http:" && String(cause).includes("HTTP protocol is not allowed")) return;
    throw configError(
      `gave no credentials (${(cause as NodeJS.ErrnoException).code ?? "its login failed"})`,
      "Log in to the cluster again.",
    );
  });
  await orAborted(ask, AbortSignal.timeout(LOGIN_MS));
  const { agent, auth, ca, cert, headers, key, servername } = options;
  const basic = auth ? { Authorization: `Basic ${Buffer.from(auth).toString("base64")}` } : {};
  const hasProxy = config.getCurrentCluster()?.proxyUrl !== undefined;
  return {
    headers: { ...(headers as Record<string, string>), ...basic },
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(servername === undefined ? {} : { servername }),
    ...(hasProxy && typeof agent === "object" ? { agent: agent as Agent } : {}),
  };
}

function insecureError(how: string): BudgieError {
  return configError(
    `reaches its cluster ${how}, so that anybody could answer in its place`,
    "Give it the cluster's certificate authority.",
  );
}

function configError(happened: string, advice: string): BudgieError {
  return new BudgieError("CONFIG_INVALID", `The kubeconfig ${happened}. ${advice}`);
}
