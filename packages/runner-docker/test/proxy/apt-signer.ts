import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createCleartextMessage, generateKey, sign } from "openpgp";

/** The signer of a repository's packages. */
export type AptSigner = {
  /** The key in the format of apt's `signed-by` */
  readonly publicKey: string;
  /** Signs a flat repository's list of packages */
  sign(folder: string): Promise<void>;
};

/** Creates a signer with a new key. */
export async function createAptSigner(): Promise<AptSigner> {
  const userIDs = [{ name: "nobody", email: "nobody@apt.test" }];
  const { privateKey, publicKey } = await generateKey({ type: "rsa", rsaBits: 2048, userIDs, format: "object" });
  return {
    publicKey: publicKey.armor(),
    async sign(folder) {
      const packages = await readFile(join(folder, "Packages"));
      const message = await createCleartextMessage({ text: toRelease(packages) });
      await writeFile(join(folder, "InRelease"), await sign({ message, signingKeys: privateKey }));
    },
  };
}

function toRelease(packages: Buffer): string {
  const hash = createHash("sha256").update(packages).digest("hex");
  const date = new Date().toUTCString().replace("GMT", "UTC");
  return [`Date: ${date}`, "SHA256:", ` ${hash} ${packages.length} Packages`, ""].join("\n");
}
