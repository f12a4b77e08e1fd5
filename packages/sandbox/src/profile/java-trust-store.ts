import { X509Certificate } from "node:crypto";

/** Path of the user's certificates in a sandbox, in the form that Java reads. */
export const JAVA_TRUST_STORE = "/etc/budgie/ca.p12";

/**
 * Builds a trust store of certificates in PEM, which Java cannot read: PKCS #12 without encryption and password, since nothing in it is
 * secret. What is no certificate is left out.
 */
export function buildJavaTrustStore(pem: string): Buffer {
  const bags = parseCertificates(pem).map(({ raw }, index) => certificateBag(raw, `ca-${index}`));
  const safe = sequence(data(sequence(...bags)));
  return sequence(integer(3), data(safe));
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

function parseCertificates(pem: string): readonly X509Certificate[] {
  return (pem.match(CERTIFICATE) ?? []).flatMap((text) => {
    try {
      return [new X509Certificate(text)];
    } catch {
      return [];
    }
  });
}

// Contents of object identifiers, of RFC 7292 and, for what makes Java trust a certificate, Oracle's
const OID = {
  data: "2a864886f70d010701",
  certificateBag: "2a864886f70d010c0a0103",
  certificate: "2a864886f70d01091601",
  friendlyName: "2a864886f70d010914",
  trustedKeyUsage: "6086480186f966adca7b0101",
  anyUsage: "551d2500",
} as const;

function certificateBag(certificate: Buffer, name: string): Buffer {
  return sequence(
    oid("certificateBag"),
    explicit(sequence(oid("certificate"), explicit(octets(certificate)))),
    set(sequence(oid("friendlyName"), set(bmpString(name))), sequence(oid("trustedKeyUsage"), set(oid("anyUsage")))),
  );
}

function data(content: Buffer): Buffer {
  return sequence(oid("data"), explicit(octets(content)));
}

function oid(name: keyof typeof OID): Buffer {
  return encode(0x06, Buffer.from(OID[name], "hex"));
}

const sequence = (...parts: readonly Buffer[]): Buffer => encode(0x30, ...parts);
const set = (...parts: readonly Buffer[]): Buffer => encode(0x31, ...parts);
const explicit = (part: Buffer): Buffer => encode(0xa0, part);
const octets = (content: Buffer): Buffer => encode(0x04, content);
const integer = (value: number): Buffer => encode(0x02, Buffer.from([value]));
const bmpString = (text: string): Buffer => encode(0x1e, Buffer.from(text, "utf16le").swap16());

/** Encodes a value by the Distinguished Encoding Rules. */
function encode(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  if (content.length < 0x80) return Buffer.concat([Buffer.from([tag, content.length]), content]);
  const length = Buffer.from(content.length.toString(16).replace(/^(?=(?:..)*.$)/, "0"), "hex");
  return Buffer.concat([Buffer.from([tag, 0x80 + length.length]), length, content]);
}
