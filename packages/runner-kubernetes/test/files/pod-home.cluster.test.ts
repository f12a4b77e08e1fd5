import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FilledEntry } from "@budgie/core/copies";
import { KIRO_HIDDEN_PATHS } from "@budgie/core/policy";
import { findClusterLack } from "@budgie/testkit";
import { coverHome } from "../../src/files/cover-home.ts";
import { createPodHome } from "../../src/files/create-pod-home.ts";
import { readHomeCovers } from "../../src/files/read-home-covers.ts";
import { SHAPE } from "../helpers/pod-shape.ts";
import { startPods, type TestPod, type TestPods } from "../helpers/start-pods.ts";

/** A user's home, as the host of a real session has one. */
const SHOWN = "/home/somebody";
const lack = findClusterLack();
// The usual reporter does not print titles of what it skips.
if (lack !== undefined) process.stderr.write(`Skipped: ${lack}\n`);

describe.skipIf(lack !== undefined)("a session's home in a Pod", () => {
  let pods: TestPods;
  let pod: TestPod;
  const host = mkdtempSync(join(tmpdir(), "budgie-host-"));

  beforeAll(async () => {
    pods = await startPods("home");
    pod = await pods.open({ shape: { ...SHAPE, shownPath: SHOWN } });
  }, 300_000);
  afterAll(async () => {
    await pod?.remove();
    await pods?.[Symbol.asyncDispose]();
    rmSync(host, { recursive: true });
  }, 60_000);

  /** Runs a script as the agent's process, and resolves to what it prints. */
  async function run(script: string): Promise<string> {
    const place = { env: { HOME: "/home/agent" }, directory: "/home/agent", ports: [] };
    const { exit, stdout } = await pod.run({ argv: ["/bin/sh", "-c", `exec 2>&1; ${script}`], ...place });
    expect(exit).toMatchObject({ exitCode: 0 });
    return stdout;
  }

  it("is the agent's own, with covers that are new in each turn, and /auth that only budgie writes", async () => {
    const { wire } = pod;
    const home = createPodHome(() => Promise.resolve(wire));
    writeFileSync(join(host, "rules.md"), "the host's rules");
    const projections = [{ source: join(host, "rules.md"), home: ".kiro/steering/rules.md" }];
    const read = await readHomeCovers({ projections, hidden: KIRO_HIDDEN_PATHS });
    const covers = { ...read, shown: [toPrompt("the host's prompt")] };
    await home.create([
      { path: "/home/agent/.tool/token", content: Buffer.from("a token"), mode: 0o600 },
      { path: "/auth/login", content: Buffer.from("a login"), mode: 0o400 },
    ]);

    await coverHome(wire, covers);
    const first = await run(`
      cat .tool/token /auth/login .kiro/steering/rules.md ${SHOWN}/.kiro/p.md; echo
      echo kept >.tool/kept; rm -f .kiro/steering/rules.md; echo planted >.kiro/agents/own.json
      for act in "touch /auth/new" "rm -f /auth/login" "rm -f ${SHOWN}/.kiro/p.md" "touch ${SHOWN}/new" "touch /home/new" "mv /home/agent /home/other"; do $act 2>/dev/null || echo no; done
      find . -type f | sort`);
    await coverHome(wire, { ...covers, shown: [toPrompt("another prompt")] });
    const second = await run(
      `cat .tool/kept .kiro/steering/rules.md ${SHOWN}/.kiro/p.md; echo; find .kiro/agents; ls /home`,
    );

    expect(first.split("\n")).toEqual([
      "a tokena loginthe host's rulesthe host's prompt",
      "no",
      "no",
      "no",
      "no",
      "no",
      "no",
      "./.kiro/agents/own.json",
      "./.kiro/settings/cli.json",
      "./.tool/kept",
      "./.tool/token",
      "",
    ]);
    expect(second.split("\n")).toEqual([
      "kept",
      "the host's rulesanother prompt",
      ".kiro/agents",
      "agent",
      "somebody",
      "",
    ]);
    expect(String(await home.readFile(".tool/kept", 100))).toBe("kept\n");
  });
});

function toPrompt(text: string): FilledEntry {
  return { entry: { path: ".kiro/p.md", kind: "file", mode: 0o444, size: text.length }, content: Buffer.from(text) };
}
