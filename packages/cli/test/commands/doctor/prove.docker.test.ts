import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CLAIMS } from "@budgie/claims";
import { listTracesBelow } from "../../helpers/engine.ts";
import { budgiePath, TEST_IMAGE, toEngineVariables } from "../../helpers/start-budgie.ts";

type Probes = { readonly id: string; readonly promise: string; readonly probes: number };

let machine: string;

// Short, because socket paths are limited in length.
beforeEach(() => void (machine = mkdtempSync(join(tmpdir(), "budgie-p-"))));
afterEach(() => rmSync(machine, { recursive: true, force: true }));

/** Starts `budgie doctor --prove` for a new user. */
function startProof(...args: readonly string[]) {
  const env = { PATH: process.env["PATH"] ?? "", HOME: machine, TMPDIR: machine, ...toEngineVariables() };
  const argv = [budgiePath, "doctor", "--prove", "--sandbox-image", TEST_IMAGE, ...args];
  const child = spawn(process.execPath, argv, { env, stdio: ["ignore", "pipe", "pipe"] });
  const stderr: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (piece: string) => stderr.push(piece));
  const ended = once(child, "close").then(([exitCode]) => exitCode as number | null);
  return { child, ended, stdout: text(child.stdout), stderr: () => stderr.join("") };
}

describe("budgie doctor --prove", { timeout: 400_000 }, () => {
  it("prints all claims on a new machine, and nothing gets through", async () => {
    const { ended, stderr, stdout } = startProof();

    const table = (await stdout).split("\n\n").find((part) => part.includes(" probes ran, ")) ?? "";

    const rows = [...table.matchAll(/^(?:ok|note|failed) +([a-z-]+) +\d+ of (\d+) +(.+)$/gm)].map(
      ([, id = "", probes, promise = ""]): Probes => ({ id, promise, probes: Number(probes) }),
    );
    const all = rows.reduce((sum, { probes }) => sum + probes, 0);
    expect(rows).toEqual(CLAIMS.map(({ id, probes, promise }) => ({ id, promise, probes: probes.length })));
    expect(rows.length).toBeGreaterThan(20);
    expect(table).not.toMatch(/^failed/m);
    expect(table).toMatch(new RegExp(`\\n${all} probes ran, 0 got through(?:, \\d+ found nothing to attack)?\\.\\n?$`));
    // The new user has no login and no agents yet.
    expect(await ended).toBe(1);
    expect(stderr().match(/^budgie: \d+ of \d+: [a-z-]+, \d+ of \d+ held$/gm)).toHaveLength(rows.length);
    expect(readdirSync(machine)).toEqual([]);
    expect(await listTracesBelow(machine)).toEqual([]);
  });

  it.each(["SIGINT", "SIGTERM"] as const)("leaves nothing behind when %s ends it", async (signal) => {
    const { child, ended, stderr, stdout } = startProof("--json");
    await vi.waitFor(() => expect(stderr()).toContain("budgie: 1 of "), 60_000);
    const before = await listTracesBelow(machine);
    const folders = readdirSync(machine);

    child.kill(signal);

    expect(await ended).toBe(130);
    expect(await stdout).toBe("");
    expect(stderr()).not.toContain("clean up");
    expect(before.length).toBeGreaterThan(0);
    expect(folders).toEqual([expect.stringMatching(/^budgie-lab-/)]);
    expect(readdirSync(machine)).toEqual([]);
    expect(await listTracesBelow(machine)).toEqual([]);
  });
});
