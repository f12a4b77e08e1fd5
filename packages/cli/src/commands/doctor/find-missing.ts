import type { Config } from "../../config/config.ts";
import { withFlags, type Host } from "@budgie/mcp-server";
import { inspectMachine } from "./inspect-machine.ts";

/** Returns a sentence on each thing that sandboxed turns need and this machine lacks: engine, image, runtime. */
export async function findMissing(config: Config, host: Host): Promise<readonly string[]> {
  // "budgie doctor" looks at clusters, which takes a login.
  if (!config.sandbox || config.cluster !== undefined) return [];
  const { engine, image, runtime } = await inspectMachine(config, host);
  const problems = [engine, image, runtime].flatMap((part) =>
    part === undefined || part.ok ? [] : [withFlags(part.problem)],
  );
  // Without an engine nothing else can be looked for.
  return engine.ok ? problems : problems.slice(0, 1);
}
