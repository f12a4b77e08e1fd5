import { expect, it } from "vitest";
import type { ProcessOrder } from "../../src/requests/index.ts";
import { startProcess } from "../../src/session/start-process.ts";
import { toLivePod } from "../files/to-live-pod.ts";
import { greet, runSidecar } from "../helpers/run-sidecar.ts";

const ORDER: ProcessOrder = {
  argv: ["agent"],
  env: {},
  unset: [],
  directory: "/workspace",
  ports: [],
  isReadOnly: false,
  limits: { pids: 64, diskBytes: 2 ** 30 },
};
const PIECE = Buffer.alloc(65_535);
// More than the wire and both ends hold of a stream that nobody reads.
const PIECES = 60;

it("a process that is cancelled at its start ends, however much it has printed by then, and its Pod stays", async () => {
  await using running = await runSidecar();
  const hold = await running.connectHold();
  greet(hold);
  const budgie = await running.connectBudgie();
  const { pod } = toLivePod(budgie.wire);
  const removed: string[] = [];
  const over = new AbortController();
  const starting = startProcess(
    { ...pod, remove: async () => void removed.push("Pod") },
    { order: ORDER, input: "", stderr: budgie.nextOpened(), signal: over.signal },
  );
  starting.catch(() => undefined);
  await hold.hear("S");
  over.abort();
  await hold.hear("K");
  hold.say("P");
  for (const kind of ["O", "R"]) for (let count = 0; count < PIECES; count += 1) hold.say(kind, PIECE);
  hold.say("E", [-1, 15, 0]);

  await expect(starting).rejects.toMatchObject({ code: "CANCELLED" });
  expect(removed).toEqual([]);
}, 60_000);
