import { spawnSync } from "node:child_process";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { StartOptions } from "@budgie/core";
import { ALLOWLIST, createStandbyTestPlace, type StandbyTestPlace, type OpenSession } from "./standby-place.ts";

let ahead: StandbyTestPlace;
beforeAll(async () => void (ahead = await createStandbyTestPlace()));
afterAll(() => ahead[Symbol.asyncDispose]());

type Change = (open: OpenSession, waiting: string) => Promise<Partial<StartOptions> | void>;

const CHANGES: Readonly<Record<string, readonly [Change, script: string, stdout: string]>> = {
  "the workspace was exchanged": [
    async ({ workspace }) => {
      await rename(workspace, `${workspace}-old`);
      await mkdir(workspace);
      await writeFile(join(workspace, "new"), "");
    },
    "ls",
    "new\n",
  ],
  "an agent file appeared in the workspace": [
    async ({ workspace }) => {
      await mkdir(join(workspace, ".kiro/agents"), { recursive: true });
      await writeFile(join(workspace, ".kiro/agents/evil.json"), "{}");
    },
    "ls -A .kiro/agents",
    "",
  ],
  "a path is to be protected": [
    async ({ workspace }) => {
      await mkdir(join(workspace, "hooks"));
      return { protectedPaths: ["hooks"] };
    },
    "touch hooks/made 2>/dev/null || echo refused",
    "refused\n",
  ],
  "the workspace is to be read-only": [
    async () => ({ access: { ...ALLOWLIST, workspace: "ro" } }),
    "touch made 2>/dev/null || echo refused",
    "refused\n",
  ],
  "there is to be no network": [
    async () => ({ access: { ...ALLOWLIST, egress: { mode: "none", hosts: [] } } }),
    "env | grep -c PROXY",
    "0\n",
  ],
  "a limit is lower": [
    async () => ({ access: { ...ALLOWLIST, limits: { pids: 50 } } }),
    "cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null",
    "50\n",
  ],
  "the session's container was started again": [
    async ({ session }) => ahead.docker.getContainer(`budgie-session-${session.id}`).restart({ t: 0 }),
    "grep -c :0C38 /proc/net/tcp",
    "1\n",
  ],
  ...(process.getuid?.() === 0 && {
    "a file system was mounted in the workspace": [
      async ({ workspace }) => {
        await mkdir(join(workspace, "disk"));
        spawnSync("mount", ["-t", "tmpfs", "budgie", join(workspace, "disk")]);
        await writeFile(join(workspace, "disk/file"), "");
      },
      "ls disk",
      "file\n",
    ],
  }),
  "it was killed": [async (_open, waiting) => ahead.docker.getContainer(waiting).kill(), "echo works", "works\n"],
  "it was removed": [
    async (_open, waiting) => ahead.docker.getContainer(waiting).remove({ force: true }),
    "echo works",
    "works\n",
  ],
};

describe("the container of a session's next turn is discarded if", () => {
  it.each(Object.entries(CHANGES))("%s", async (_, [change, script, expected]) => {
    await using open = await ahead.openSession();
    await open.run("true", { access: ALLOWLIST });
    const waiting = await open.untilWaiting();
    const options = await change(open, waiting);
    const before = ahead.countCreations();

    const { stdout } = await open.run(script, { access: ALLOWLIST, ...options });
    spawnSync("umount", ["--lazy", join(open.workspace, "disk")]);

    expect([stdout, ahead.countCreations() - before]).toEqual([expected, 1]);
    const find = (): Promise<unknown> => ahead.docker.getContainer(waiting).inspect();
    await expect.poll(() => find().catch((error: { statusCode: number }) => error.statusCode)).toBe(404);
  });
});
