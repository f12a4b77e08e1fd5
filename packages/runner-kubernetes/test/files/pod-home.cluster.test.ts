import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FilledEntry } from "@budgie/core/copies";
import { KIRO_HIDDEN_PATHS } from "@budgie/core/policy";
import { findClusterLack, startCluster, type Cluster as TestCluster } from "@budgie/testkit";
import { connectCluster } from "../../src/api/connect-cluster.ts";
import { coverHome } from "../../src/files/cover-home.ts";
import { createPodHome } from "../../src/files/create-pod-home.ts";
import { readHomeCovers } from "../../src/files/read-home-covers.ts";
import { toSandboxPod } from "../../src/pod/index.ts";
import { BRIDGE, POD, type ProcessOrder } from "../../src/requests/index.ts";
import { keepConnected } from "../../src/session/keep-connected.ts";
import { openExec, type Wire } from "../../src/wire/index.ts";
import { SHAPE } from "../helpers/pod-shape.ts";

/** A user's home, as the host of a real session has one. */
const SHOWN = "/home/somebody";
const lack = findClusterLack();
// The usual reporter does not print titles of what it skips.
if (lack !== undefined) process.stderr.write(`Skipped: ${lack}\n`);

describe.skipIf(lack !== undefined)("a session's home in a Pod", () => {
  let server: TestCluster;
  let wire: Wire;
  const host = mkdtempSync(join(tmpdir(), "budgie-host-"));

  beforeAll(async () => {
    const { agent, sidecar } = SHAPE.images;
    server = await startCluster("a", [agent, sidecar]);
    await server.kubectl(["create", "namespace", "home"]);
    await server.kubectl(["label", "namespace", "home", "pod-security.kubernetes.io/enforce=restricted"]);
    await server.kubectl(["-n", "home", "wait", "--for=create", "sa/default", "--timeout=100s"]);
    const cluster = await connectCluster({ kubeconfig: server.kubeconfig, namespace: "home" });
    await cluster.create("pods", toSandboxPod({ ...SHAPE, shownPath: SHOWN }));
    await server.kubectl(["-n", "home", "wait", "--for=condition=Ready", `pod/${SHAPE.name}`, "--timeout=100s"]);
    const openBridge = async () => openExec(await cluster.execOptions(SHAPE.name, POD.sidecar, BRIDGE));
    wire = await keepConnected(
      { openBridge, onStream: (stream) => void stream.input.resume() },
      AbortSignal.timeout(60_000),
    );
  }, 300_000);
  afterAll(async () => {
    wire?.close();
    rmSync(host, { recursive: true });
    await server?.[Symbol.asyncDispose]();
  }, 60_000);

  /** Runs a script as the agent's process, and resolves to what it prints. */
  async function run(script: string): Promise<string> {
    const order: ProcessOrder = {
      argv: ["/bin/sh", "-c", `exec 2>&1; ${script}`],
      env: { HOME: "/home/agent" },
      unset: [],
      directory: "/home/agent",
      ports: [],
      isReadOnly: false,
      limits: { pids: 64, diskBytes: 2 ** 30 },
    };
    const bytes = Buffer.from(JSON.stringify(order));
    const turn = wire.open({ purpose: "turn", orderBytes: bytes.length });
    turn.output.write(bytes);
    turn.end();
    const printed = await text(turn.input);
    expect(await turn.last).toMatchObject({ exitCode: 0 });
    return printed;
  }

  it("is the agent's own, with covers that are new in each turn, and /auth that only budgie writes", async () => {
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
