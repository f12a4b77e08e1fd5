import { z } from "zod";

// budgie sets these itself.
const OWN_HEADERS =
  /^(?:a2a-version|accept|accept-encoding|connection|content-.*|expect|host|te|trailer|transfer-encoding|upgrade)$/i;

const isHeaderName = (name: string): boolean => /^[\w-]+$/.test(name) && !OWN_HEADERS.test(name);

/** The section of a kagent backend. */
export type KagentSection = z.infer<typeof kagentSection>;

/** The keys of a server elsewhere: its address, and what its requests need. */
export const serverKeys = {
  url: z
    .string("an http or https address")
    .refine(isServerUrl, "an http or https address without a user, a query or a fragment")
    .describe("its address, which is called whatever its card says"),
  headers: z
    .record(z.string().refine(isHeaderName, "the name of a header"), z.string("a text"), {
      error: ({ code }) => (code === "invalid_key" ? "the name of a header that budgie does not set" : "an object"),
    })
    .default({})
    .describe('headers of all requests; $NAME in a value is a variable of budgie\'s environment: "Bearer $TOKEN"'),
  allowRemote: z
    .boolean("true or false")
    .default(false)
    .describe("lets it be called with --sandbox too, though no sandbox holds it"),
};

export const kagentSection = z
  .strictObject(serverKeys, "an object")
  .describe("a kagent backend, whose agents are tools as they come and go");

function isServerUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { hash, password, protocol, search, username } = new URL(text);
  return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === "";
}
