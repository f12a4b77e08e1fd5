import { startHttpBudgie, TOKEN } from "../../../mcp-server/test/mcp/http/start-http-budgie.ts";
import type { BudgieUser } from "../helpers/start-budgie.ts";
import type { Served } from "./clients.ts";
import { describeClients, HEARTBEAT } from "./describe-clients.ts";
import { describeInspector } from "./describe-inspector.ts";

describeClients("over HTTP", serve);
describeInspector("over HTTP", serve);

/** Starts one budgie, to which all clients of a test connect. */
async function serve(user: BudgieUser): Promise<Served> {
  const { end, url } = await startHttpBudgie(user, { args: ["--heartbeat", HEARTBEAT] });
  return { address: { url: url.href, token: TOKEN }, end };
}
