import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { toRecords } from "@budgie/sandbox/records";
import { greet, runSidecar } from "../helpers/run-sidecar.ts";

const FILL = { purpose: "file", act: "fill", volume: "work" } as const;
const FILE = { entry: { path: "a", kind: "file", mode: 0o640, size: 7 }, content: Buffer.from("content") } as const;

it("a fill is no failure if its stream ends after the copier", async () => {
  await using running = await runSidecar();
  greet(await running.connectHold());
  const budgie = await running.connectBudgie();
  const stream = budgie.wire.open(FILL);
  for await (const piece of toRecords(Readable.from([FILE]))) stream.output.write(piece);
  await expect.poll(() => existsSync(join(running.roots.tree, "a"))).toBe(true);
  await expect.poll(() => readdirSync("/proc").some((pid) => isCopierOf(pid, running.roots.tree))).toBe(false);
  stream.end();

  expect(await stream.last).toEqual({ ok: true });
});

/** Tells if a process is the copier that fills a folder. */
function isCopierOf(pid: string, folder: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(`unpack\0${folder}`);
  } catch {
    return false;
  }
}
