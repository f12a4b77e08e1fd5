import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";

/** The program of Node in the demo image */
export const NODE = "/usr/local/lib/kiro-cli/node";

/** Starts a turn with a policy that runs a program of Node, and measures on command until it is stopped. `given` is its argument. */
export async function startMeasuringTurn({ session, directory, egress, program, given }) {
  const argv = [NODE, "-e", await readFile(program, "utf8"), JSON.stringify(given)];
  const access = { workspace: "ro", egress, limits: {} };
  const child = await session.start({ argv, env: {}, projections: [] }, { directory, access });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const said = text(child.stderr);
  return {
    /** Makes the program measure, and returns its times in ms. */
    async measure(command) {
      child.stdin.write(`${JSON.stringify(command)}\n`);
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
