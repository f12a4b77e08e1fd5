import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** A private key and its certificate, both in PEM. */
export type Identity = { readonly key: string; readonly cert: string };

/** A certificate authority that no program trusts by default. */
export type CertificateAuthority = AsyncDisposable & {
  /** Path of its own certificate */
  readonly file: string;
  issue(...names: readonly string[]): Promise<Identity>;
};

/** Creates an authority in a temporary folder, with the `openssl` of this machine. Its name may be any text without a slash. */
export async function createCertificateAuthority(name = "budgie-test-authority"): Promise<CertificateAuthority> {
  const folder = await mkdtemp(join(tmpdir(), "budgie-authority-"));
  const run = (argv: readonly string[]) => promisify(execFile)("openssl", argv, { cwd: folder });
  const openssl = (command: string) => run(command.split(" "));
  const subject = ["-utf8", "-subj", `/CN=${name}`];
  await run([...`req -x509 ${NEW_KEY} -keyout ca.key -out ca.pem -days 2 ${CA_USE}`.split(" "), ...subject]);
  return {
    file: join(folder, "ca.pem"),
    async issue(...names) {
      await writeFile(join(folder, "names"), `subjectAltName=${names.map((name) => `DNS:${name}`).join(",")}\n`);
      await openssl(`req -new ${NEW_KEY} -keyout host.key -out host.csr -subj /CN=budgie-test`);
      await openssl(
        "x509 -req -in host.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out host.pem",
      );
      const [key, cert] = await Promise.all(
        ["host.key", "host.pem"].map((name) => readFile(join(folder, name), "utf8")),
      );
      return { key: key ?? "", cert: cert ?? "" };
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

const NEW_KEY = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
const CA_USE = "-addext keyUsage=critical,keyCertSign";
