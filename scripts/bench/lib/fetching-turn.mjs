import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";

// The only program in the demo image that speaks TLS.
const NODE = "/usr/local/lib/kiro-cli/node";
const CLIENT = new URL("tls-client.cjs", import.meta.url);

/** Starts a turn with a policy that requests pages from a server on command, until it is stopped. */
export async function startFetchingTurn({ session, directory, egress, server }) {
  const argv = [NODE, "-e", await readFile(CLIENT, "utf8"), JSON.stringify(server)];
  const access = { workspace: "ro", egress, limits: {} };
  const child = await session.start({ argv, env: {}, projections: [] }, { directory, access });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const said = text(child.stderr);
  return {
    /** Makes `count` sequential requests and returns their times in ms. `bytesPerS` limits the server's speed. */
    async fetch(count, { bytes, bytesPerS = Number.MAX_SAFE_INTEGER }) {
      child.stdin.write(`${JSON.stringify({ count, bytes, path: `/${bytes}/${bytesPerS}` })}\n`);
      const { done, value } = await lines.next();
      if (done) throw new Error(`The client in the sandbox ended: ${await said}`);
      return JSON.parse(value);
    },
    /** Stops the turn, and returns its egress report. */
    async stop() {
      await child.stop("shutdown");
      return child.egress;
    },
  };
}
