import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentProcess, Command, StartOptions } from "@budgie/core";
import { ALLOWLIST, createStandbyTestPlace, type OpenSession, type StandbyTestPlace } from "./standby-place.ts";

let standby: StandbyTestPlace;
beforeAll(async () => void (standby = await createStandbyTestPlace({ ahead: 4, warmIdleMs: 60_000 })));
afterAll(() => standby[Symbol.asyncDispose]());

// Prints each line that it gets.
const ECHO: Command = { argv: ["sh", "-c", "cat"], env: {}, projections: [] };

describe("a process that stands by", () => {
  it("is handed out to the session's next start, without a call of the engine", async () => {
    await using open = await standby.openSession();
    const first = await start(open);
    expect(await say(first, "one")).toBe("one\n");
    first.standBy?.();
    expect(standby.runner.ahead?.count().turns).toBe(1);
    const before = standby.proxy.requestLines().length;

    const second = await start(open);

    expect(second).toBe(first);
    expect(await say(second, "two")).toBe("two\n");
    expect(standby.proxy.requestLines().slice(before)).toEqual([]);
    expect(await second.disk?.()).toMatchObject({ grownBytes: 0 });
    expect(await second.egress?.()).toEqual({ allowed: [], denied: [] });
  });

  const changes: Readonly<Record<string, (open: OpenSession) => Promise<Partial<StartOptions> | void>>> = {
    "passes another agent": async () => ({ standbyKey: "another" }),
    "passes none": async () => ({ standbyKey: undefined }),
    "may reach other hosts": async () => ({ access: { ...ALLOWLIST, egress: { mode: "open", hosts: [] } } }),
    "may only read the workspace": async () => ({ access: { ...ALLOWLIST, workspace: "ro" } }),
    "has lower limits": async () => ({ access: { ...ALLOWLIST, limits: { pids: 50 } } }),
    ...(process.getuid?.() === 0 && {
      "would see a file system that was mounted in the workspace": async ({ workspace }) => {
        await mkdir(join(workspace, "disk"));
        spawnSync("mount", ["-t", "tmpfs", "budgie", join(workspace, "disk")]);
      },
    }),
  };

  it.each(Object.entries(changes))("has ended before another one starts if the next start %s", async (_, change) => {
    await using open = await standby.openSession();
    const first = await start(open);
    first.standBy?.();
    let hasEnded = false;
    void first.exit.then(() => (hasEnded = true));
    const options = await change(open);

    const second = await start(open, options ?? {});
    spawnSync("umount", ["--lazy", join(open.workspace, "disk")]);

    expect([second === first, hasEnded]).toEqual([false, true]);
    expect(await first.exit).toMatchObject({ exitCode: 0 });
    await second.stop("shutdown");
  });

  it("ends with its session", async () => {
    const open = await standby.openSession();
    const first = await start(open);
    first.standBy?.();
    await open.session.remove();

    await first.exit;
    expect(standby.runner.ahead?.count().turns).toBe(0);
  });
});

function start({ session, workspace }: OpenSession, options: Partial<StartOptions> = {}): Promise<AgentProcess> {
  return session.start(ECHO, { directory: workspace, access: ALLOWLIST, standbyKey: "an agent", ...options });
}

async function say({ stdin, stdout }: AgentProcess, line: string): Promise<string> {
  stdin.write(`${line}\n`);
  const [chunk] = (await once(stdout, "data")) as [Buffer];
  return chunk.toString();
}
