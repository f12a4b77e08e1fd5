import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

/** The error of a request by an MCP revision that budgie does not speak, as 2026-07-28 defines it. */
export type RevisionError = {
  readonly code: number;
  readonly message: string;
  readonly data: { readonly supported: readonly string[]; readonly requested: string };
};

type AnyRequest = { readonly method: string; readonly params?: unknown };

/** The schema of the request with which clients of newer revisions begin. */
export const discoverRequest = z.looseObject({ method: z.literal("server/discover"), params: z.unknown().optional() });

/** Returns the error of `server/discover`, and of a request that names an unsupported revision; `undefined` for any other. */
export function findRevisionError({ method, params }: AnyRequest): RevisionError | undefined {
  const { data: { _meta: meta = {} } = {} } = metaParams.safeParse(params);
  const requested = meta[REVISION_KEY];
  const supported = SUPPORTED_PROTOCOL_VERSIONS;
  if (method !== DISCOVER && (requested === undefined || supported.includes(requested))) return undefined;
  const message =
    `budgie does not speak MCP's revision ${JSON.stringify(requested ?? "unknown").slice(0, LONGEST_NAME)}. It speaks ` +
    `${supported.join(", ")}, which begin with "initialize": have your client offer one of them.`;
  return { code: UNSUPPORTED_REVISION, message, data: { supported, requested: requested ?? "unknown" } };
}

/** Throws the error of such a request. */
export function refuseRevision(request: AnyRequest): void {
  const error = findRevisionError(request);
  if (error !== undefined) throw Object.assign(new Error(error.message), error);
}

const DISCOVER = discoverRequest.shape.method.value;
const REVISION_KEY = "io.modelcontextprotocol/protocolVersion";
const UNSUPPORTED_REVISION = -32_022;
const LONGEST_NAME = 50;
const metaParams = z.looseObject({ _meta: z.looseObject({ [REVISION_KEY]: z.string().optional() }).optional() });
