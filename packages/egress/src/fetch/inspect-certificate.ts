import { X509Certificate } from "node:crypto";
import { connect as connectTls, rootCertificates, type TLSSocket } from "node:tls";
import { createConnector, type ConnectorOptions } from "./connector.ts";

export type CertificateQuestion = Pick<ConnectorOptions, "lookup" | "policy" | "upstream"> & {
  readonly host: string;
  readonly port: number;
  /** Certificates in PEM to trust; default the public ones, as Node ships them */
  readonly trusted?: string | undefined;
  /** Time to connect, and to shake hands */
  readonly timeoutMs: number;
};

/** The certificate of a server, judged by what is trusted. */
export type JudgedCertificate = {
  /** The code of the reason why it is not accepted, such as `CERT_HAS_EXPIRED`; `undefined` if it is */
  readonly problem: string | undefined;
  /** True if only the trust in its authority is missing */
  readonly isUntrusted: boolean;
  /** The name of the authority at the end of the chain that the server sent, as the server wrote it */
  readonly authority: string;
  /** Returns true if one of these certificates in PEM signed the end of the chain, or is it */
  readonly isSignedBy: (pem: string) => boolean;
};

/**
 * Connects to an allowed host as a sandbox's proxy does, and judges the certificate that it shows. Sends no request. Rejects if the host is
 * not reached or speaks no TLS.
 */
export async function inspectCertificate(question: CertificateQuestion): Promise<JudgedCertificate> {
  const { host, port, timeoutMs, trusted } = question;
  const socket = await within(timeoutMs, createConnector({ ...question, urls: [], loopback: false })({ host, port }));
  const ca = trusted === undefined ? [...rootCertificates] : parseCertificates(trusted).map(String);
  const tls = connectTls({ socket, servername: host, ca, rejectUnauthorized: false });
  try {
    await within(timeoutMs, shake(tls));
    return judge(tls);
  } finally {
    tls.destroy();
    socket.destroy();
  }
}

async function within<Value>(timeoutMs: number, promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it gave no answer within ${timeoutMs / 1000} s`)), timeoutMs);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}

function shake(tls: TLSSocket): Promise<void> {
  return new Promise((resolve, reject) => {
    tls.once("secureConnect", resolve).on("error", reject);
    tls.once("close", () => reject(new Error("it hung up")));
  });
}

// A server may send as many as it likes.
const LONGEST_CHAIN = 16;

const UNTRUSTED: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

function judge(tls: TLSSocket): JudgedCertificate {
  // Its type is wrong: it is the code of the reason.
  const problem = tls.authorized ? undefined : String(tls.authorizationError);
  const last = findLast(tls);
  return {
    problem,
    isUntrusted: problem !== undefined && UNTRUSTED.has(problem),
    authority: last === undefined ? "" : findName(last.issuer),
    isSignedBy: (pem) => last !== undefined && parseCertificates(pem).some((one) => hasSigned(one, last)),
  };
}

function findLast(tls: TLSSocket): X509Certificate | undefined {
  let certificate = tls.getPeerX509Certificate();
  for (let length = 1; length < LONGEST_CHAIN && certificate?.issuerCertificate; length++) {
    certificate = certificate.issuerCertificate;
  }
  return certificate;
}

/** Returns the common name of a distinguished name, or its organization, or all of it. */
function findName(distinguished: string): string {
  const [, name] = /^CN=(.*)$/m.exec(distinguished) ?? /^O=(.*)$/m.exec(distinguished) ?? [];
  return name ?? distinguished;
}

function hasSigned(authority: X509Certificate, certificate: X509Certificate): boolean {
  if (authority.fingerprint256 === certificate.fingerprint256) return true;
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Parses the certificates of a text in PEM, and leaves out what is none. */
function parseCertificates(pem: string): readonly X509Certificate[] {
  return (pem.match(CERTIFICATE) ?? []).flatMap((text) => {
    try {
      return [new X509Certificate(text)];
    } catch {
      return [];
    }
  });
}
