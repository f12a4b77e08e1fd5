import type { ClaimResult, LabOptions, ServeAgents } from "@budgie/claims";
import type { SandboxFacts } from "@budgie/runner-docker";
import { findServersOf, storePins } from "@budgie/mcp-manager/agents";
import { serveMcpServers, withStep } from "@budgie/mcp-manager/serving";
import { withFlags, type Host } from "@budgie/mcp-server";
import { toServersConfig } from "@budgie/mcp-server/commands";
import { parseConfig } from "../../config/config.ts";
import type { Finding } from "../findings/finding.ts";
import { countProof, type Proof } from "./proof.ts";

/** Runs the claims' probes and reports progress on stderr. Resolves to a finding if they cannot run. */
export async function proveClaims({ engine, image }: SandboxFacts, options: LabOptions, host: Host): Promise<Outcome> {
  if (!engine.ok) return skipped("there is no engine to prove them on");
  if (!image.ok) return skipped("there is no image to prove them with");
  const { CLAIMS, isMoot, prove } = await import("@budgie/claims");
  let count = 0;
  const onResult = ({ id, probes }: ClaimResult): void => {
    const held = probes.filter(({ verdict }) => verdict.outcome === "held").length;
    host.report(`${++count} of ${CLAIMS.length}: ${id}, ${held} of ${probes.length} held`);
  };
  try {
    return {
      problems: [],
      proof: countProof(await prove({ ...options, serveAgents: createServeInLab(host), onResult }), isMoot),
    };
  } catch (error) {
    if (options.signal?.aborted) throw error;
    return skipped(withFlags(error instanceof Error ? error.message : String(error)));
  }
}

type Outcome = { readonly problems: readonly Finding[]; readonly proof: Proof | undefined };

function skipped(why: string): Outcome {
  return { problems: [{ state: "failed", what: "claims", text: `not proven: ${why}` }], proof: undefined };
}

/** Returns a function that gives the agents of a lab their MCP servers, without the user's home, environment and state. */
export function createServeInLab(process: Host): ServeAgents {
  return (protocol, { configFile, home, runner, stateDir }) => {
    const host = { ...process, home, env: { HOME: home } };
    const config = toServersConfig(parseConfig({ sandbox: true, config: configFile, stateDir }, host), host);
    const step = serveMcpServers({ config, runner, instance: "lab", shared: new Map() });
    const served = withStep(protocol, step);
    return (turn) => {
      // The lab wrote the entries itself, and its state is its own.
      const found = findServersOf([turn.agent], config);
      storePins(
        found.flatMap(({ use }) => ("pin" in use ? [use.pin] : [])),
        config,
      );
      return served(turn);
    };
  };
}
