import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { buildJavaTrustStore } from "@budgie/sandbox/profile";
import { readTrust } from "../../src/egress/trust.ts";

describe("the user's certificates", () => {
  let folder: string;

  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "budgie-"))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it("are read as they are, and as Java reads them", () => {
    const file = join(folder, "ca.pem");
    const text = `# Our own\n${rootCertificates.slice(0, 2).join("\n")}\n`;
    writeFileSync(file, text);

    expect(readTrust(file)).toEqual({ pem: Buffer.from(text), java: buildJavaTrustStore(text) });
  });

  it.each(["missing.pem", "."])("cannot be read from %s", (name) => {
    const file = join(folder, name);

    expect(() => readTrust(file)).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining(`"${file}" cannot be read`) }),
    );
  });
});
