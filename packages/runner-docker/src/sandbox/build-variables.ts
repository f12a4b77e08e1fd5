import { buildSandboxVariables, CA_FILE, JAVA_TRUST_STORE, type SandboxUser } from "@budgie/sandbox/profile";

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
  const { caFile, user, variables } = of;
  const trust = caFile === undefined ? undefined : { pem: CA_FILE, java: JAVA_TRUST_STORE };
  return buildSandboxVariables({ user, trust, variables, direct: listDirect(of) });
}

/** Lists the names that are reached without the proxy; `undefined` if there is no proxy. */
function listDirect({ forwarder, network, services }: VariablesOf): readonly string[] | undefined {
  if (forwarder === undefined && !network.startsWith("container:")) return undefined;
  return services?.hosts.map((host) => host.split(":", 1)[0] ?? "") ?? [];
}
