import { X509Certificate } from "node:crypto";
import { rootCertificates } from "node:tls";
import { expect, it } from "vitest";
import { trustInProject } from "../../src/image/trust-in-build.ts";

const DOCKERFILE = [
  "\uFEFFARG V=1",
  "from a \\",
  "# still the same",
  "",
  "  AS one",
  'RUN echo "\\',
  'FROM b"',
  "FROM scratch\r",
  "COPY --from=one / /",
].join("\n");

it("each stage of a project's Dockerfile gets a copy of the certificates, and arguments that name it", () => {
  const { buildArgs, dockerfile, files } = trustInProject("PEM OF CORP", DOCKERFILE, "k1");

  const lines = dockerfile.split("\n");
  const added = lines.map((line, at) => (line === "COPY budgie-k1/ /etc/budgie-build/" ? lines[at - 1] : undefined));
  expect(added.filter(Boolean)).toEqual(["  AS one", "FROM scratch\r"]);
  expect(lines.filter((line) => line === "ARG NODE_EXTRA_CA_CERTS")).toHaveLength(2);
  expect(lines.filter((line) => !/^COPY budgie-|^ARG \w+$/.test(line)).join("\n")).toBe(DOCKERFILE);
  expect(buildArgs).toMatchObject({
    NODE_EXTRA_CA_CERTS: "/etc/budgie-build/ca.pem",
    PIP_CERT: "/etc/budgie-build/ca.pem",
    APT_CONFIG: "/etc/budgie-build/ca.apt.conf",
    JAVA_TOOL_OPTIONS: expect.stringContaining("trustStore=/etc/budgie-build/ca.p12"),
  });
  expect(Object.keys(files)).toEqual(["budgie-k1/ca.pem", "budgie-k1/ca.apt.conf", "budgie-k1/ca.p12"]);
  // A build may reach any host, so the public authorities stay trusted.
  expect(files["budgie-k1/ca.pem"]).toMatch(/^PEM OF CORP\n-----BEGIN CERTIFICATE-----\n/);
  const { raw } = new X509Certificate(rootCertificates[0] ?? "");
  expect(Buffer.from(files["budgie-k1/ca.p12"] ?? "").includes(raw)).toBe(true);
});
