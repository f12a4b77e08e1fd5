import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";

// The one program of the demo image's that speaks TLS.
const NODE = "/usr/local/lib/kiro-cli/node";
const CLIENT = new URL("tls-client.cjs", import.meta.url);

/** Starts a turn that asks a server for pages, with a policy, and is told when: it lasts until it is stopped. */
export async function startFetchingTurn({ session, directory, egress, server }) {
  const argv = [NODE, "-e", await readFile(CLIENT, "utf8"), JSON.stringify(server)];
  const access = { workspace: "ro", egress, limits: {} };
  const child = await session.start({ argv, env: {}, projections: [] }, { directory, access });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const said = text(child.stderr);
  return {
    /** The times in ms of `count` requests, one after the other; a server may be told how fast it may answer */
    async fetch(count, { bytes, bytesPerS = Number.MAX_SAFE_INTEGER }) {
      child.stdin.write(`${JSON.stringify({ count, bytes, path: `/${bytes}/${bytesPerS}` })}\n`);
      const { done, value } = await lines.next();
      if (done) throw new Error(`The client in the sandbox ended: ${await said}`);
      return JSON.parse(value);
    },
    /** Ends it, and tells what it reached. */
    async stop() {
      await child.stop("shutdown");
      return child.egress;
    },
  };
}
