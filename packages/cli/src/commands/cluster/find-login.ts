import { createKiroLogin } from "@budgie/sandbox/login";
import type { Host } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";
import { inspectLogin } from "../doctor/list-sandbox-findings.ts";
import type { Finding } from "../findings/finding.ts";

/** Finds the login of Kiro that sandboxes would get. */
export async function findLogin({ credentials, kiroDataDir: dataDir }: Config, { env }: Host): Promise<Finding> {
  const login = createKiroLogin({ dataDir, credentials });
  const facts = await login.inspect(env).then(
    (found) => ({ ok: true, facts: found }) as const,
    (error: Error) => ({ ok: false, problem: error.message }) as const,
  );
  return inspectLogin(facts, dataDir, env["PATH"]);
}
