import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findClusterLack } from "@budgie/testkit";
import { createPrebuilt, installPacked, packPackages } from "./install-packed.ts";
import { startUserCluster, type UserCluster } from "./start-user-cluster.ts";

const KEY = "canary-api-key";
const lack = findClusterLack();

describe.skipIf(lack !== undefined)("the packed program, in an empty folder and home", () => {
  let cluster: UserCluster;
  let root: string;
  beforeAll(async () => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "budgie-first-")));
    cluster = await startUserCluster("first");
  }, 300_000);
  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true });
  }, 60_000);

  it("comes from its installation to a first answer on a cluster by what it says to do", async () => {
    const [home, program, project] = ["home", "program", "project"].map((name) => join(root, name)) as Folders;
    for (const folder of [home, project]) mkdirSync(folder);
    writeFileSync(join(project, "README"), "A project.\n");
    const env = { PATH: process.env["PATH"] ?? "", HOME: home, KUBECONFIG: cluster.kubeconfig };
    const budgie = (...argv: readonly string[]) =>
      run(join(program, "node_modules/.bin/budgie"), argv, { cwd: project, env: { ...env, KIRO_API_KEY: KEY } });

    await installPacked(program, await packPackages(root, ["budgie-mcp"]), await createPrebuilt(root));
    const first = await budgie("init", "--runner", "kubernetes", "--yes");
    const keys = { ...cluster.images, credentials: "api-key" };
    for (const [key, value] of Object.entries(keys)) await budgie("config", "set", key, value);
    const last = await budgie("init", "--runner", "kubernetes");
    const doctor = await budgie("doctor", "--prove");

    expect(first.exitCode).toBe(3);
    expect(first.out.match(/^failed +\w+/gm)).toEqual(["failed  image", "failed  image"]);
    expect(first.out).toContain("budgie image push REGISTRY/NAME");
    expect(last.out).toMatch(/^ok +call +.*\nYou asked: Say in one sentence what is in this directory\.$/m);
    expect(last.exitCode).toBe(0);
    expect(doctor.out).toMatch(/^ok +walls +a Pod started, and its network policy and its jail each kept/m);
    expect(doctor.exitCode).toBe(0);
    const shown = JSON.stringify([first, doctor, last]);
    expect(shown + readFileSync(cluster.server.auditLog, "utf8")).not.toContain(KEY);
    expect(await cluster.listObjects()).toBe("");
  }, 300_000);
});

type Folders = [string, string, string];

type Ended = { readonly exitCode: number; readonly out: string };

/** Runs a program to its end, with both outputs together. */
async function run(
  program: string,
  argv: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<Ended> {
  const child = spawn("sh", ["-c", 'exec "$0" "$@" 2>&1', program, ...argv], {
    ...options,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = new Promise<number>((resolve) => child.once("exit", (code) => resolve(code ?? -1)));
  const out = await text(child.stdout);
  return { exitCode: await ended, out };
}
