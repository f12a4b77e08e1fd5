import type { AllowedHost, EgressPolicy, Runner } from "@budgie/core";
import { sanitizeText } from "@budgie/core/text";
import type { JudgedCertificate } from "@budgie/egress";
import { findUpstreamProxy, type Host } from "@budgie/mcp-server";
import { findAuthorityFile, readPem, type AuthorityFile } from "./find-authority-file.ts";
import { readImageCertificates } from "./read-image-certificates.ts";

/** A remark on the certificate of a host. */
export type CertificateRemark = {
  readonly state: "note" | "failed";
  readonly text: string;
  /** A command that removes the cause */
  readonly todo?: string | undefined;
};

export type CertificateTrust = {
  readonly policy: EgressPolicy;
  /** The file of `--ca-file` */
  readonly caFile: string | undefined;
  /** Runs a program of the image; `undefined` if the image cannot be asked what it trusts */
  readonly print: Runner["print"] | undefined;
};

const MOST_HOSTS = 8;
// Twice in a row, and a person waits.
const TIMEOUT_MS = 4_000;

/**
 * Compares the certificates that hosts show with what the programs of a sandbox trust, and names the file to add. Returns only remarks on
 * what will not work: nothing for a host that shows an accepted certificate, is not reached or speaks no TLS.
 */
export async function judgeCertificates(
  hosts: readonly AllowedHost[],
  trust: CertificateTrust,
  host: Host,
): Promise<readonly CertificateRemark[]> {
  const remarks = await Promise.all(
    hosts.slice(0, MOST_HOSTS).map((target) => judgeHost(target, trust, host).catch(() => [])),
  );
  return remarks.flat();
}

async function judgeHost(
  target: AllowedHost,
  trust: CertificateTrust,
  host: Host,
): Promise<readonly CertificateRemark[]> {
  const { caFile, policy } = trust;
  const { inspectCertificate } = await import("@budgie/egress");
  const url = findUpstreamProxy(host.env);
  const noProxy = host.env["NO_PROXY"] ?? host.env["no_proxy"];
  const upstream = url === undefined ? undefined : { url, ...(noProxy === undefined ? {} : { noProxy }) };
  const place = { host: target.host, port: target.port, policy, upstream, timeoutMs: TIMEOUT_MS };
  // Only Node's programs trust the public authorities besides those of --ca-file.
  const shown = await inspectCertificate({ ...place, trusted: caFile === undefined ? undefined : readPem(caFile) });
  if (shown.problem === undefined) return [];
  const name = `"${target.host}:${target.port}"`;
  if (!shown.isUntrusted)
    return [{ state: "failed", text: `${name} shows a certificate that no program accepts: ${shown.problem}` }];
  return [await judgeUntrusted(`${name} shows a certificate of "${toName(shown)}"`, shown, { ...trust, host })];
}

type Untrusted = CertificateTrust & { readonly host: Host };

async function judgeUntrusted(shows: string, shown: JudgedCertificate, trust: Untrusted): Promise<CertificateRemark> {
  const { caFile, host, print } = trust;
  const found = findAuthorityFile(host, shown.isSignedBy);
  const remedy = { todo: found && `budgie config set caFile ${JSON.stringify(found.path)}` };
  if (caFile !== undefined) {
    const text = `${shows}, which is not in "${caFile}" of --ca-file, and most programs in a sandbox trust nothing else. Name a file that has it too, such as ${formatFile(found)}.`;
    return { state: "failed", text, ...remedy };
  }
  const isInImage = print !== undefined && shown.isSignedBy(await readImageCertificates(print));
  const add = `Add --ca-file ${formatFile(found)}.`;
  if (isInImage) {
    return {
      state: "note",
      text: `${shows}, which the image trusts, and npm and other programs of Node.js do not. ${add}`,
    };
  }
  return { state: "failed", text: `${shows}, which the sandbox does not trust. ${add}`, ...remedy };
}

/** Returns a file as an argument to type. */
function formatFile(found: AuthorityFile | undefined): string {
  if (found === undefined) return "FILE, your network's certificates in PEM";
  const { path, variable } = found;
  return `${JSON.stringify(path)} (${variable ?? "this machine's own list"})`;
}

const LONGEST_NAME = 100;

/** Returns the name of an authority. A server chose it. */
function toName({ authority }: JudgedCertificate): string {
  return sanitizeText(authority)
    .replace(/[\s"]+/g, " ")
    .slice(0, LONGEST_NAME);
}
