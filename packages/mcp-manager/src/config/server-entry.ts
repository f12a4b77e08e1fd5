import { z } from "zod";

const texts = z.array(z.string().max(16_384)).max(256);
const named = z.record(z.string().regex(/^[A-Za-z_]\w*$/, "must have names of variables"), z.string().max(65_536));
const headers = z.record(
  z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, "must have names of headers"),
  z.string().max(16_384),
);

/** An entry of `mcpServers`, as Kiro reads it. Other keys are accepted, since Kiro accepts them. */
export const serverEntrySchema = z.looseObject({
  type: z.enum(["stdio", "http", "streamable-http", "sse", "registry"]).optional(),
  command: z.string().min(1).max(4096).optional(),
  args: texts.default([]),
  env: named.default({}),
  url: z.string().max(4096).optional(),
  headers: headers.default({}),
  timeout: z.number().int().min(1).max(86_400_000).default(120_000),
  disabled: z.boolean().default(false),
  disabledTools: texts.default([]),
  oauthScopes: texts.default([]),
});

export type ServerEntry = z.infer<typeof serverEntrySchema>;
