import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import type { ArchiveEntry } from "@budgie/sandbox/home";
import { readOnlyBind, volumeMount, type HeldMounts } from "@budgie/sandbox/mounts";
import { createMountSender } from "../../src/turn/create-mount-sender.ts";
import { createSourceReader } from "../../src/turn/create-source-reader.ts";
import type { Engine } from "../../src/engine/engine.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "budgie-")));
afterAll(() => rmSync(folder, { recursive: true }));

const file = join(folder, "passwd");
const shown = join(folder, "shown");
mkdirSync(join(shown, "sub"), { recursive: true });
writeFileSync(file, "agent");
writeFileSync(join(shown, "sub", "prompt.md"), "Be brief.", { mode: 0o640 });
symlinkSync("/etc/shadow", join(shown, "link"));
symlinkSync("/etc", join(shown, "folder-link"));

const VOLUME = { name: "budgie-session-1-auth", labels: {} };
const COPY = { settings: volumeMount({ name: "copy", labels: {} }, "/workspace") };

type Source = HeldMounts["workspace"];

const sourceAt = (path: string, kind: "file" | "folder"): Source => ({
  path,
  here: path,
  kind,
  gid: 0,
  identity: "",
  isFollowed: false,
});

function hold(): HeldMounts {
  const mounts = [
    { settings: readOnlyBind(file, "/etc/passwd"), source: sourceAt(file, "file") },
    COPY,
    { settings: readOnlyBind(shown, "/home/agent/.kiro"), source: sourceAt(shown, "folder") },
  ];
  return {
    mounts,
    workspace: sourceAt(folder, "folder"),
    workspacePath: "/workspace",
    absent: [],
  } as unknown as HeldMounts;
}

function openSender(write?: () => Promise<void>) {
  const written: (readonly ArchiveEntry[])[] = [];
  const docker = { getVolume: () => ({ inspect: async () => ({ Mountpoint: "/var/lib/docker/volumes/auth/_data" }) }) };
  const send = createMountSender({ docker } as unknown as Engine, VOLUME, {
    async write(entries) {
      written.push(entries);
      await write?.();
    },
  });
  return { send, written };
}

it("sends the files of the host once, and mounts them from the engine's own path", async () => {
  const { send, written } = openSender();

  const { mounts } = await send(hold());
  const again = await send(hold());

  const [passwd, copy, kiro] = mounts;
  const at = /^\/var\/lib\/docker\/volumes\/auth\/_data(\/shown\/[0-9a-f]{32})\/0$/.exec(
    passwd?.settings.source ?? "",
  )?.[1];
  expect(passwd).toEqual({ settings: readOnlyBind(`/var/lib/docker/volumes/auth/_data${at}/0`, "/etc/passwd") });
  expect(copy).toBe(COPY);
  expect(kiro?.settings).toMatchObject({ source: `/var/lib/docker/volumes/auth/_data${at}/2`, isReadOnly: true });
  expect(again.mounts).toEqual(mounts);
  expect(written).toEqual([
    [
      { path: "/auth/shown", content: "folder" },
      { path: `/auth${at}`, content: "folder" },
      { path: `/auth${at}/0`, content: Buffer.from("agent"), mode: 0o644 },
      { path: `/auth${at}/2`, content: "folder" },
      { path: `/auth${at}/2/sub`, content: "folder" },
      { path: `/auth${at}/2/sub/prompt.md`, content: Buffer.from("Be brief."), mode: 0o640 },
    ],
  ]);
});

it("sends them again after a failure, and if one has changed", async () => {
  const failures = [new Error("The engine does not answer.")];
  const { send, written } = openSender(async () => {
    const failure = failures.pop();
    if (failure !== undefined) throw failure;
  });

  await expect(send(hold())).rejects.toThrow("does not answer");
  const { mounts } = await send(hold());
  writeFileSync(file, "other");
  const changed = await send(hold());
  writeFileSync(file, "agent");

  expect(written).toHaveLength(3);
  expect(changed.mounts[0]?.settings.source).not.toBe(mounts[0]?.settings.source);
});

it("sends nothing for a source that is missing", async () => {
  const { send, written } = openSender();
  const held = { ...hold(), mounts: [{ settings: readOnlyBind("/gone", "/etc/hosts") }] };

  await expect(send(held)).rejects.toMatchObject({
    code: "WORKSPACE_INVALID",
    message: expect.stringContaining("/gone"),
  });
  expect(written).toEqual([]);
});

it.each([
  ["entries", { entries: 2, bytes: 1000 }],
  ["bytes", { entries: 100, bytes: 8 }],
])("refuses a folder with too many %s", async (_what, most) => {
  await expect(createSourceReader(most)(sourceAt(shown, "folder"), "0")).rejects.toMatchObject({
    code: "WORKSPACE_INVALID",
    message: expect.stringContaining(`"${shown}" makes what a sandbox is shown`),
  });
});
