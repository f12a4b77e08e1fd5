import { join } from "node:path";
import { kiroCliPath } from "@budgie/testkit";
import { budgiePath, createBudgieUser, type BudgieUser } from "../../helpers/start-budgie.ts";
import { startHttpBudgie, TOKEN, type HttpBudgie } from "../../../../mcp-server/test/mcp/http/start-http-budgie.ts";
import type { Address, Outcome } from "../clients.ts";
import type { LanguageClient } from "./language-client.ts";

/** The transports over which clients of all languages reach budgie. */
export const WAYS = ["stdio", "HTTP"] as const;

/** A user of budgie whom clients of other languages call. */
export type LanguagePlace = AsyncDisposable & {
  readonly user: BudgieUser;
  readonly budgie: HttpBudgie;
  readonly addresses: Readonly<Record<(typeof WAYS)[number], Address>>;
  /** Asks the agent `code-reviewer` in the user's workspace */
  readonly ask: (client: LanguageClient, input: object, timeoutMs?: number) => Promise<Outcome>;
};

/** Creates a user, and starts their budgie over HTTP. */
export async function createLanguagePlace(): Promise<LanguagePlace> {
  const user = await createBudgieUser();
  const budgie = await startHttpBudgie(user, { args: ["--heartbeat", "250ms"] });
  const log = { BUDGIE_ENV: "FAKE_KIRO_LOG", FAKE_KIRO_LOG: join(user.host.home, "kiro-calls") };
  const env = { HOME: user.host.home, PATH: process.env["PATH"] ?? "", BUDGIE_KIRO_BINARY: kiroCliPath, ...log };
  return {
    user,
    budgie,
    addresses: { stdio: { command: process.execPath, args: [budgiePath], env }, HTTP: toAddress(budgie.url) },
    ask(client, input, timeoutMs) {
      const call = { name: "kiro-subagents.code-reviewer", arguments: { directory: user.workspace, ...input } };
      return client.call(timeoutMs === undefined ? call : { ...call, timeoutMs });
    },
    async [Symbol.asyncDispose]() {
      await budgie[Symbol.asyncDispose]();
      await user[Symbol.asyncDispose]();
    },
  };
}

/** Returns the address of a budgie over HTTP, with its token. */
export function toAddress({ href }: URL): Address {
  return { url: href, token: TOKEN };
}
