import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { checkFilesBy } from "@budgie/core/text";
import { ensureTrustStore } from "@budgie/sandbox/mounts";
import { describe, expect, it, onTestFinished } from "vitest";
import { buildJavaTrustStore } from "../../src/profile/java-trust-store.ts";

const [first = "", second = ""] = rootCertificates;

describe("a trust store for Java", () => {
  it("has each certificate of a text, and nothing else of it", () => {
    const broken = first.replace(/[A-Za-z]{20}/, "");

    const store = buildJavaTrustStore(`# a secret\n${first}\n${broken}\n-----BEGIN PRIVATE KEY-----\n${second}\n`);

    expect([first, second].map((pem) => store.includes(new X509Certificate(pem).raw))).toEqual([true, true]);
    expect(store.includes("secret")).toBe(false);
    expect(store.length).toBeLessThan(
      new X509Certificate(first).raw.length + new X509Certificate(second).raw.length + 500,
    );
  });

  it("is not made of a file that an agent may have written, wherever a link leads", () => {
    const folder = mkdtempSync(join(tmpdir(), "budgie-ca-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [target, link] = [join(folder, "written.pem"), join(folder, "ca.pem")];
    writeFileSync(target, first);
    symlinkSync(target, link);
    expect(ensureTrustStore(folder, link)).toMatch(/\.p12$/);
    checkFilesBy({
      check(path) {
        if (path === target) throw new Error("agents could write there");
      },
    });
    onTestFinished(() => checkFilesBy(undefined));

    expect(() => ensureTrustStore(folder, link)).toThrow("agents could write there");
  });

  it.each([
    ["no certificate", "the certificates\n"],
    ["all that are public", rootCertificates.join("\n")],
  ])("of %s is one value whose length is right", (_, pem) => {
    const store = buildJavaTrustStore(pem);
    const long = (store[1] ?? 0) & 0x7f;
    const [head, length] = (store[1] ?? 0) < 0x80 ? [2, store[1]] : [2 + long, store.readUIntBE(2, long)];

    expect(store.length - head).toBe(length);
  });
});
