import { readPlainFile } from "@budgie/core/text";
import { resolvePath, type Host } from "@budgie/mcp-server";

/** A file of this machine with certificates to trust. */
export type AuthorityFile = {
  readonly path: string;
  /** The variable that names it; `undefined` for the system's own */
  readonly variable: string | undefined;
};

const VARIABLES = [
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
  "REQUESTS_CA_BUNDLE",
  "CURL_CA_BUNDLE",
  "GIT_SSL_CAINFO",
  "PIP_CERT",
  "AWS_CA_BUNDLE",
] as const;

// On Debian; on Fedora; on macOS and Alpine
const SYSTEMS = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/** Finds the first file that this machine's programs trust, and that `has` the authority: one that a variable names, or the system's. */
export function findAuthorityFile(host: Host, has: (pem: string) => boolean): AuthorityFile | undefined {
  const named = VARIABLES.flatMap((variable) => {
    const path = host.env[variable];
    return path ? [{ path: resolvePath(path, host), variable }] : [];
  });
  return [...named, ...SYSTEMS.map((path) => ({ path, variable: undefined }))].find(({ path }) => has(readPem(path)));
}

/** Reads a file with certificates; empty if it cannot be used as one. */
export function readPem(path: string): string {
  try {
    return readPlainFile(path).text;
  } catch {
    return "";
  }
}
