import { fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createCertificateAuthority } from "../../../packages/testkit/dist/certificate-authority.js";

const PROGRAM = fileURLToPath(new URL("tls-server.mjs", import.meta.url));

/** Starts a TLS server on an address of this machine with a certificate for `name`. */
export async function startTlsServer(address, name) {
  const { ca, ...identity } = await makeIdentity(name);
  const child = fork(PROGRAM, [address]);
  child.send(identity);
  const failed = once(child, "exit").then(([code]) => {
    throw new Error(`The benchmark's server at ${address} ended with exit code ${code}.`);
  });
  const [{ port }] = await Promise.race([once(child, "message"), failed]);
  failed.catch(() => undefined);
  return { ca, host: name, to: address, port, close: () => child.disconnect() };
}

async function makeIdentity(name) {
  const authority = await createCertificateAuthority();
  try {
    return { ...(await authority.issue(name)), ca: await readFile(authority.file, "utf8") };
  } finally {
    await authority[Symbol.asyncDispose]();
  }
}
