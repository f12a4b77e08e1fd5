import { z } from "zod";
import { group, option } from "./option.ts";
import { HOST_NAME, NUMBERS, ORIGIN, PATH, SWITCH } from "./option-values.ts";

// Messages complete the sentence "Expected --model to be <message>, got …".
const address = z.string().regex(/^[\w.:-]+$/, "an address or name of this machine");
const { tcpPort } = NUMBERS;

/** The options of the transport and of diagnosis. */
export const transportOptions = {
  ...group("Transport:", {
    transport: option(z.enum(["stdio", "http"], '"stdio" or "http"').default("stdio"), {
      help: "how clients connect: stdio, or http for MCP's Streamable HTTP at /mcp",
      value: "<how>",
    }),
    host: option(address.optional(), {
      help: "with --transport http: the address to listen on; 127.0.0.1 by default",
      value: "<address>",
    }),
    port: option(tcpPort.optional(), {
      help: "with --transport http: the port; 3333 by default, 0 for a free one",
      value: "<number>",
    }),
    httpTokenFile: option(PATH.optional(), {
      help: "the file with the bearer token that clients must have, if BUDGIE_HTTP_TOKEN has none; a new one by default",
      value: "<file>",
    }),
    httpAllowedHost: option(z.array(HOST_NAME).default([]), {
      help: "one more name by which clients may call this server, such as that of a reverse proxy; repeatable",
      value: "<name>",
      repeatable: "list",
      visibility: "file",
    }),
    httpAllowedOrigin: option(z.array(ORIGIN).default([]), {
      help: "an origin whose web pages may use this server; none by default; repeatable",
      value: "<origin>",
      repeatable: "list",
      visibility: "file",
    }),
    httpAllowRemote: option(SWITCH.default(false), {
      help: "let --host be an address that other machines reach; nothing is encrypted",
    }),
    httpSessionTtl: option(z.string().optional(), {
      help: "how long a client may be idle, with no call running, before its sessions end; 30m by default",
      value: "<duration>",
      visibility: "file",
    }),
  }),
  ...group("Diagnosis:", {
    listTools: option(SWITCH.default(false), {
      help: "print the tools and what they do, and exit",
      visibility: "hidden",
    }),
    debug: option(SWITCH.default(false), {
      help: "print everything a client is told about the tools, and exit",
      visibility: "hidden",
    }),
    verbose: option(SWITCH.default(false), { help: "log every chat in its session's home, and every turn on stderr" }),
  }),
};
