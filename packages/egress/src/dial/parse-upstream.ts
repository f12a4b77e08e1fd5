import { BudgieError } from "@budgie/core/errors";

/** The proxy that this machine must use, and the hosts that it reaches without it. */
export type UpstreamOptions = {
  /** Format of `HTTPS_PROXY`, with credentials if the proxy requires them */
  readonly url: string;
  /** Format of `NO_PROXY` */
  readonly noProxy?: string;
};

/** A parsed upstream proxy. */
export type Upstream = {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  /** The value of `Proxy-Authorization` */
  readonly authorization: string | undefined;
  /** Returns true if a host is reached without the proxy */
  readonly skips: (host: string, port: number) => boolean;
};

/** Parses the upstream proxy's options. Errors do not repeat the URL, which may contain a password. */
export function parseUpstream({ noProxy = "", url }: UpstreamOptions): Upstream {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol !== "http:" && parsed?.protocol !== "https:") {
    throw new BudgieError(
      "CONFIG_INVALID",
      "Cannot use the proxy of HTTPS_PROXY: it is not an http:// or https:// URL. Correct the variable, or unset it.",
    );
  }
  const secure = parsed.protocol === "https:";
  const exceptions = parseNoProxy(noProxy);
  return {
    secure,
    ...toAddress(parsed),
    authorization: toAuthorization(parsed),
    skips: (host, port) => exceptions.some((skips) => skips(host, port)),
  };
}

/** Returns the host and port of an HTTP or HTTPS URL, with an IPv6 address without its brackets. */
export function toAddress({ hostname, port, protocol }: URL): { readonly host: string; readonly port: number } {
  const usual = protocol === "https:" ? 443 : 80;
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: port === "" ? usual : Number(port) };
}

function toAuthorization({ password, username }: URL): string | undefined {
  if (username === "" && password === "") return undefined;
  const credentials = `${decode(username)}:${decode(password)}`;
  return `Basic ${Buffer.from(credentials).toString("base64")}`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A password with a bare % was never percent-encoded.
    return text;
  }
}

function parseNoProxy(text: string): ((host: string, port: number) => boolean)[] {
  return text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .map((entry) => {
      const [, pattern = entry, port] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
      const name = pattern.replace(/^\*?\./, "");
      return (host, at) =>
        (port === undefined || Number(port) === at) && (name === "*" || host === name || host.endsWith(`.${name}`));
    });
}
