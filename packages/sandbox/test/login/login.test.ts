import { expect, it } from "vitest";
import type { ArchiveFile, HomeArchive } from "../../src/home/home-archive.ts";
import { createKiroLogin } from "../../src/login/create-kiro-login.ts";
import { openWithoutLogin } from "../../src/login/login.ts";

const FILE: ArchiveFile = { path: "/home/agent/note", content: Buffer.from("x"), mode: 0o600 };

function createRecordingArchive() {
  const calls: string[] = [];
  const record = (how: string) => async (files: readonly ArchiveFile[]) =>
    void calls.push(`${how} ${files.map(({ path }) => path).join(" ")}`.trim());
  const refuse = () => Promise.reject(new Error("It reads nothing."));
  const archive: HomeArchive = {
    readFile: refuse,
    saveFiles: refuse,
    checkMountPoints: refuse,
    create: record("create"),
    write: record("write"),
  };
  return { archive, calls };
}

it.each([
  [false, ["create", "write /home/agent/note"]],
  [true, ["write", "write /home/agent/note"]],
])("fills a home without a login once, and again for a command's files; used before: %s", async (exists, expected) => {
  const { archive, calls } = createRecordingArchive();
  const sync = openWithoutLogin({ archive, scratchDir: "/nowhere", exists });
  const { signal } = new AbortController();

  await sync.prepare("none", signal);
  await sync.prepare("none", signal);
  await sync.prepare("none", signal, [FILE]);
  await sync.clear(signal);

  expect(calls).toEqual(expected);
});

it("needs Kiro's login unless the command has an API key", () => {
  const { name, toNeed } = createKiroLogin({ dataDir: "/nowhere" });

  expect([name, toNeed({}), toNeed({ KIRO_API_KEY: "" }), toNeed({ KIRO_API_KEY: "k" })]).toEqual([
    "kiro",
    "required",
    "required",
    "replaced",
  ]);
});
