import { BudgieError } from "@budgie/core/errors";

/** The proxy that the host itself must use, and what it needs no proxy for. */
export type UpstreamOptions = {
  /** As in `HTTPS_PROXY`, with credentials if it wants them */
  readonly url: string;
  /** As in `NO_PROXY` */
  readonly noProxy?: string;
};

/** A proxy on the way out. */
export type Upstream = {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  /** The value of `Proxy-Authorization` */
  readonly authorization: string | undefined;
  /** Whether a host is reached without it */
  readonly skips: (host: string, port: number) => boolean;
};

/** The proxy on the way out; throws without repeating the URL, which may hold a password. */
export function parseUpstream({ noProxy = "", url }: UpstreamOptions): Upstream {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol !== "http:" && parsed?.protocol !== "https:") {
    throw new BudgieError(
      "CONFIG_INVALID",
      "Cannot use the proxy of HTTPS_PROXY: it is no http:// or https:// URL. Correct the variable, or unset it.",
    );
  }
  const secure = parsed.protocol === "https:";
  const exceptions = parseNoProxy(noProxy);
  return {
    secure,
    host: parsed.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: parsed.port === "" ? (secure ? 443 : 80) : Number(parsed.port),
    authorization: toAuthorization(parsed),
    skips: (host, port) => exceptions.some((skips) => skips(host, port)),
  };
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
    // A password with a bare % in it was never encoded.
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
