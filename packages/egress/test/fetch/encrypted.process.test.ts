import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { createCertificate } from "../helpers/certificate.ts";
import { watch } from "../helpers/proxy-place.ts";

const PROGRAM = `
  import { createEgressFetch } from ${JSON.stringify(fileURLToPath(new URL("../../dist/index.js", import.meta.url)))};
  const [host, port] = process.argv.slice(1);
  const hosts = [{ host, port: Number(port), address: "127.0.0.1", from: "test" }];
  const fetch = createEgressFetch({ policy: { mode: "allowlist", hosts }, urls: [], loopback: false });
  const answer = await fetch("https://" + host + ":" + port + "/").then((one) => one.text(), ({ cause }) => cause.code);
  console.log(answer);
`;

it.each([
  { is: "used if an authority of this process vouches for the host", host: "allowed.test", answer: "hello" },
  { is: "ended if the certificate is of another", host: "wrong.test", answer: "ERR_TLS_CERT_ALTNAME_INVALID" },
  {
    is: "ended if no authority vouches for it",
    host: "allowed.test",
    answer: "DEPTH_ZERO_SELF_SIGNED_CERT",
    trusts: false,
  },
])("an encrypted connection, which names its host, is $is", async ({ answer, host, trusts = true }) => {
  const folder = mkdtempSync(join(tmpdir(), "budgie-encrypted-"));
  const file = join(folder, "authority.pem");
  const identity = createCertificate();
  writeFileSync(file, identity.cert);
  const names: string[] = [];
  const server = createServer(
    { ...identity, SNICallback: (name, done) => (names.push(name), done(null)) },
    (_request, response) => void response.end("hello"),
  );
  const origin = await watch(server, "connection");
  const env = { PATH: process.env["PATH"], ...(trusts ? { NODE_EXTRA_CA_CERTS: file } : {}) };
  const args = ["--input-type=module", "--eval", PROGRAM, host, String(origin.port)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  await origin.close();
  rmSync(folder, { recursive: true });

  expect([stdout.trim(), names]).toEqual([answer, [host]]);
});
