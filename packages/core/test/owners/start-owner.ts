import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import type { OwnerRecord } from "@budgie/core/owners";
import { compileCore } from "../helpers/compile-core.ts";

/** An owner in a process of its own. */
type Started = { readonly child: ChildProcess; readonly record: OwnerRecord; readonly answer: Promise<unknown> };

// The verdicts of another owner in the same namespace: on this process, on this pid with another start time, and on a missing process.
const ASK = `
  const { record } = owner;
  const judge = createOwner({ stateDir: "/nowhere" });
  const stateOf = (changes) =>
    judge.stateOf({ ...record, instance: "x", lock: "/nowhere/lock", process: { ...record.process, ...changes } });
  const answer = {
    missing: await stateOf({}),
    reused: await stateOf({ started: "1" }),
    gone: await stateOf({ pid: 4_000_000 }),
  };
  process.stdout.write(JSON.stringify(answer) + "\\n");
`;

const UNSHARE = ["unshare", ...(process.getuid?.() === 0 ? [] : ["--user"]), "--pid", "--fork", "--kill-child"];

/** Tells whether this user may create a pid namespace. */
export function canUnshare(): boolean {
  return spawnSync(UNSHARE[0] ?? "", [...UNSHARE.slice(1), "true"]).status === 0;
}

/** Starts an owner that holds its lock, and returns its record. */
export async function startOwner(
  stateDir: string,
  { thenAsk = false, thenEnd = false, unshare = false } = {},
): Promise<Started> {
  const program = `
    import { createOwner } from ${JSON.stringify(join(compileCore(), "owners/owner.js"))};
    const owner = createOwner({ stateDir: ${JSON.stringify(stateDir)} });
    await owner.hold();
    process.stdout.write(JSON.stringify(owner.record) + "\\n");
    ${thenAsk ? ASK : ""}
    ${thenEnd ? "" : "setInterval(() => {}, 1000);"}
  `;
  const node = [process.execPath, "--input-type=module", "--eval", program];
  const argv = unshare ? [...UNSHARE, ...node] : node;
  const child = spawn(argv[0] ?? "", argv.slice(1), { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const record = JSON.parse(String((await lines.next()).value)) as OwnerRecord;
  const answer = thenAsk ? lines.next().then(({ value }) => JSON.parse(String(value)) as unknown) : Promise.resolve();
  return { child, record, answer };
}
