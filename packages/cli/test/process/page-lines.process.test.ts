import { EventEmitter } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, it } from "vitest";
import { pageLines } from "../../src/process/page-lines.ts";

const folder = mkdtempSync(join(tmpdir(), "budgie-pager-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function* twoChanges() {
  yield ["one", "two"];
  yield ["three"];
}

type Paging = {
  readonly isTerminal?: boolean;
  readonly env?: NodeJS.ProcessEnv;
  readonly render?: () => AsyncIterable<readonly string[]>;
};

/** Pages lines with this `$PAGER`, and returns what reached stdout itself. */
async function page(pager: string, { env, isTerminal = true, render = twoChanges }: Paging = {}): Promise<string> {
  const stdout = new PassThrough();
  const variables = { PATH: process.env["PATH"], PAGER: pager, ...env };
  const columns = isTerminal ? 80 : undefined;
  await pageLines({ columns, env: variables, events: new EventEmitter(), stdout }, render);
  stdout.end();
  return text(stdout);
}

describe("pageLines", () => {
  it("gives a terminal's lines to the user's pager, with the settings that git gives less", async () => {
    const [shown, given] = [join(folder, "shown"), join(folder, "given")];

    expect(await page(`cat >'${shown}'; echo "$LESS $MINE" >'${given}'`, { env: { MINE: "kept" } })).toBe("");

    expect(readFileSync(shown, "utf8")).toBe("one\ntwo\nthree\n");
    expect(readFileSync(given, "utf8")).toBe("FRX kept\n");
  });

  it("ends with a pager that its reader left, and reads no further", async () => {
    let read = 0;
    async function* endless() {
      for (; read < 100_000; read += 1) yield ["x".repeat(10_000)];
    }

    await page("head -c 1 >/dev/null", { render: endless });

    expect(read).toBeLessThan(100_000);
  });

  it.each<[string, string, Paging]>([
    ["without a terminal", "exit 1", { isTerminal: false }],
    ["on a dumb terminal", "exit 1", { env: { TERM: "dumb" } }],
    ["without a wish for a pager", "", {}],
    ["with `cat`", "cat", {}],
    ["where the pager is missing", "/nowhere/pager 2>/dev/null", {}],
  ])("writes plainly %s", async (_, pager, given) => {
    expect(await page(pager, given)).toBe("one\ntwo\nthree\n");
  });
});
