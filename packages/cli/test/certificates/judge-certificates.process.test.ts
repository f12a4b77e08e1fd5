import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { createServer as createPlainServer } from "node:net";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AllowedHost, EgressPolicy } from "@budgie/core";
import {
  createCertificateAuthority,
  serveOnLoopback,
  type CertificateAuthority,
  type LoopbackServer,
} from "@budgie/testkit";
import { judgeCertificates } from "../../src/certificates/judge-certificates.ts";
import { toSilentHost } from "../helpers/to-silent-host.ts";

let corporate: CertificateAuthority;
let another: CertificateAuthority;
let server: LoopbackServer;
let target: AllowedHost;
let publicOnes: string;
beforeAll(async () => {
  [corporate, another] = await Promise.all([
    createCertificateAuthority("Corp\n\u001B[1mCA"),
    createCertificateAuthority("Another"),
  ]);
  server = await serveOnLoopback(createServer(await corporate.issue("registry.test")));
  target = { host: "registry.test", port: server.port, address: "127.0.0.1", from: "--allow-host" };
  publicOnes = join(another.file, "..", "public.pem");
  writeFileSync(publicOnes, rootCertificates.slice(0, 3).join("\n"));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await Promise.all([corporate, another].map((authority) => authority[Symbol.asyncDispose]()));
});

type Given = {
  readonly caFile?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly inImage?: string;
  readonly hosts?: readonly AllowedHost[];
};

function judge({ caFile, env = {}, hosts = [target], inImage = "" }: Given) {
  const policy: EgressPolicy = { mode: "allowlist", hosts };
  const host = toSilentHost({ cwd: "/", home: "/", env });
  // Like an image's program: `$1` is the byte to begin with.
  const print = async (argv: readonly string[]) => inImage.slice(Number(argv.at(-1)) - 1, Number(argv.at(-1)) + 99_999);
  return judgeCertificates(hosts, { policy, caFile, print }, host);
}

const shows = () => `"registry.test:${server.port}" shows a certificate of "Corp\\0A\\1B[1mCA"`;

describe("the certificate of an allowed host", () => {
  it("is no matter if --ca-file has its authority", async () => {
    expect(await judge({ caFile: corporate.file })).toEqual([]);
  });

  it.each(["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"])(
    "that a sandbox does not trust comes with the file of %s that has its authority",
    async (variable) => {
      const env = { REQUESTS_CA_BUNDLE: "/nowhere.pem", PIP_CERT: another.file, [variable]: corporate.file };

      expect(await judge({ env })).toEqual([
        {
          state: "failed",
          text: `${shows()}, which the sandbox does not trust. Add --ca-file "${corporate.file}" (${variable}).`,
          todo: `budgie config set caFile "${corporate.file}"`,
        },
      ]);
    },
  );

  it("that nothing here trusts comes with the option to add", async () => {
    expect(await judge({ env: { SSL_CERT_FILE: another.file } })).toEqual([
      {
        state: "failed",
        text: `${shows()}, which the sandbox does not trust. Add --ca-file FILE, your network's certificates in PEM.`,
        todo: undefined,
      },
    ]);
  });

  it("that --ca-file lacks is named with a file that has it", async () => {
    const [remark] = await judge({ caFile: publicOnes, env: { SSL_CERT_FILE: corporate.file } });

    expect(remark).toMatchObject({ state: "failed", todo: `budgie config set caFile "${corporate.file}"` });
    expect(remark?.text).toBe(
      `${shows()}, which is not in "${publicOnes}" of --ca-file, and most programs in a sandbox trust nothing else. ` +
        `Name a file that has it too, such as "${corporate.file}" (SSL_CERT_FILE).`,
    );
  });

  it("that only the image trusts is noted, since Node's programs do not look there", async () => {
    const inImage = `${"# a long list\n".repeat(10_000)}${readFileSync(corporate.file, "utf8")}`;

    expect(await judge({ inImage })).toEqual([
      {
        state: "note",
        text: `${shows()}, which the image trusts, and npm and other programs of Node.js do not. Add --ca-file FILE, your network's certificates in PEM.`,
      },
    ]);
  });

  it("that is another host's is reported with the reason", async () => {
    const hosts = [{ ...target, host: "other.test" }];

    expect(await judge({ caFile: corporate.file, hosts })).toEqual([
      {
        state: "failed",
        text: `"other.test:${server.port}" shows a certificate that no program accepts: ERR_TLS_CERT_ALTNAME_INVALID`,
      },
    ]);
  });

  it("of a server that says nothing is not waited for", async () => {
    const silent = createPlainServer();
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const address = silent.address();
    const port = typeof address === "object" ? (address?.port ?? 0) : 0;

    expect(await judge({ hosts: [{ ...target, port }] })).toEqual([]);
    silent.close();
  });
});
