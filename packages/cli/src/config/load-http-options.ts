import { BudgieError } from "@budgie/core";
import type { Config } from "./config.ts";
import type { ConfigKey } from "../options/config-schema.ts";
import { resolvePath, type Host, type HttpOptions } from "@budgie/mcp-server";
import { takeHttpToken, loadHttpToken } from "./load-http-token.ts";
import { toFlag, formatOptionName } from "../options/format-option-name.ts";
import { parseTime } from "../options/option-values.ts";
import { BlockList, isIP } from "node:net";

/**
 * Checks the options of HTTP, and loads or generates the token; `undefined` for stdio. Removes the token from the environment
 * in both cases. Throws `CONFIG_INVALID`.
 */
export function loadHttpOptions(config: Config, program: Host): HttpOptions | undefined {
  const given = takeHttpToken(program);
  if (config.transport === "stdio") return undefined;
  const { host = "127.0.0.1", httpAllowRemote, httpSessionTtl = "30m", httpTokenFile, port = 3333 } = config;
  const isRemote = !isLoopback(host);
  if (isRemote && !httpAllowRemote) {
    throw new BudgieError(
      "CONFIG_INVALID",
      `--host "${host}" lets other machines reach budgie, and what they send and get is not encrypted. Listen on 127.0.0.1 ` +
        "behind a tunnel or a proxy that has TLS, or add --http-allow-remote and a token of your own.",
    );
  }
  const file = httpTokenFile === undefined ? undefined : resolvePath(httpTokenFile, program);
  const { isNew: isNewToken, token } = loadHttpToken({ token: given, file, isRemote });
  return {
    host,
    port,
    allowedHosts: config.httpAllowedHost,
    allowedOrigins: config.httpAllowedOrigin,
    // The longest delay of a timer
    sessionTtlMs: parseTime(httpSessionTtl, { option: formatOptionName("httpSessionTtl"), most: "24d" }),
    isRemote,
    token,
    isNewToken,
  };
}

const OF_HTTP = [
  "host",
  "port",
  "httpTokenFile",
  "httpAllowedHost",
  "httpAllowedOrigin",
  "httpAllowRemote",
  "httpSessionTtl",
] as const satisfies readonly ConfigKey[];

/** Throws `CONFIG_INVALID` for HTTP options with stdio: the user expects budgie to listen. */
export function refuseForStdio(config: Config): void {
  const given = OF_HTTP.find((key) => {
    const value = config[key];
    return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
  });
  if (given === undefined) return;
  throw new BudgieError(
    "CONFIG_INVALID",
    `${toFlag(given)} is for --transport http, and this budgie speaks on stdin and stdout. Add --transport http, or leave it out.`,
  );
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8);
loopback.addAddress("::1", "ipv6");

/** Returns whether only this machine can reach an address or name. */
function isLoopback(host: string): boolean {
  const version = isIP(host);
  return version === 0 ? host === "localhost" : loopback.check(host, version === 6 ? "ipv6" : "ipv4");
}
