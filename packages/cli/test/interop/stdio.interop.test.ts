import { join } from "node:path";
import { kiroCliPath } from "@budgie/testkit";
import { budgiePath, type BudgieUser } from "../helpers/start-budgie.ts";
import type { Served } from "./clients.ts";
import { describeClients, HEARTBEAT } from "./describe-clients.ts";
import { describeInspector } from "./describe-inspector.ts";

describeClients("over stdio", serve);
describeInspector("over stdio", serve);

/** Returns the command with which clients start budgie. It has no options, since some clients would parse them as their own. */
async function serve({ host }: BudgieUser): Promise<Served> {
  const log = { BUDGIE_ENV: "FAKE_KIRO_LOG", FAKE_KIRO_LOG: join(host.home, "kiro-calls") };
  const env = { HOME: host.home, BUDGIE_KIRO_BINARY: kiroCliPath, BUDGIE_HEARTBEAT: HEARTBEAT, ...log };
  return { address: { command: process.execPath, args: [budgiePath], env }, end: async () => undefined };
}
