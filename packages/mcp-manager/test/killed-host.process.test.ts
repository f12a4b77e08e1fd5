import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { isAlive } from "@budgie/testkit";
import { toProcess } from "./helpers/servers.ts";

const HOST = fileURLToPath(new URL("fixtures/host.mjs", import.meta.url));

it("A manager that is killed leaves no server, not even one that ignores the end of its stdin", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mcp-killed-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const pidFile = join(folder, "pids");
  const server = toProcess("a", { hasChild: true, ignoresEnd: true, pidFile });
  const host = spawn(process.execPath, [HOST, JSON.stringify(server)], { stdio: ["ignore", "pipe", "inherit"] });
  await once(host.stdout, "data");
  const started = readFileSync(pidFile, "utf8").trim().split(" ").map(Number);
  const before = started.map(isAlive);
  host.kill("SIGKILL");
  await once(host, "exit");

  expect(before).toEqual([true, true]);
  await expect.poll(() => started.map(isAlive)).toEqual([false, false]);
});
