import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Creates a key and a self-signed certificate, for clients that do not verify it. */
export function createCertificate(): { readonly key: Buffer; readonly cert: Buffer } {
  const directory = mkdtempSync(join(tmpdir(), "budgie-cert-"));
  const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")];
  try {
    const algorithm = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    const subject = ["-days", "2", "-subj", "/CN=allowed.test", "-addext", "subjectAltName=DNS:allowed.test"];
    execFileSync("openssl", ["req", "-x509", ...algorithm, "-keyout", key, "-out", cert, ...subject], {
      stdio: "pipe",
    });
    return { key: readFileSync(key), cert: readFileSync(cert) };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
