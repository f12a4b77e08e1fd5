import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { createHostHome, type HostHome } from "@budgie/testkit";
import { createDockerPlace } from "../helpers/docker-place.ts";
import { changeHost, openKiroSession, ROTATE } from "../sandbox/kiro-session.ts";

const place = createDockerPlace();
afterAll(() => place[Symbol.asyncDispose]());

let count = 0;
let directory: string;
beforeEach(() => mkdirSync((directory = join(place.root, `workspace-${count++}`))));

const open = (host: HostHome) => openKiroSession(place, host, directory);

const PLANTS = [
  ["a file in place of .local", 'rm -rf "$HOME/.local" && touch "$HOME/.local"'],
  ["a link in place of its home", 'mv "$HOME" /home/was && ln -s /workspace/leak "$HOME"'],
] as const;

describe("a new login", () => {
  // Only root owns the home's parent folder.
  it.each(PLANTS.slice(0, process.getuid?.() === 0 ? 2 : 1))(
    "is not written through a planted path: %s",
    async (_, plant) => {
      await using host = await createHostHome();
      const { kiro, sh } = await open(host);
      await kiro("x");
      await sh(`mkdir -p leak/share/kiro-cli; ${plant}`);
      changeHost(host, ROTATE);

      await expect(kiro("x")).rejects.toMatchObject({
        code: "SESSION_UNUSABLE",
        message: expect.stringMatching(/"\/home\/agent.*Begin a new session/),
      });
      expect(readdirSync(join(directory, "leak"), { recursive: true }).map(String).toSorted()).toEqual([
        "share",
        "share/kiro-cli",
      ]);
    },
  );

  it.each([
    ["a link in place of the database", "ln -sf /workspace/leak data.sqlite3", undefined],
    ["a folder in place of the database", "rm data.sqlite3 && mkdir data.sqlite3", undefined],
    ["a fifo in place of the log", "mkfifo data.sqlite3-wal", undefined],
    ["a huge file beside the database", "truncate -s 200G other", undefined],
    ["a database of 300 MB", "truncate -s 300M data.sqlite3", "SESSION_UNUSABLE"],
    ["a log of 300 MB", "truncate -s 300M data.sqlite3-wal", "SESSION_UNUSABLE"],
  ])("is written or refused in bounded time in spite of %s", async (_, plant, code) => {
    await using host = await createHostHome();
    const { kiro, sh } = await open(host);
    await kiro("x");
    const planted = await sh(`cd "$HOME/.local/share/kiro-cli" && ${plant}`);
    changeHost(host, ROTATE);

    // The test's timeout bounds this: a read of such a file would take longer, or never end.
    const outcome = await kiro("[[say: still here]]").then(
      ({ stdout }) => stdout,
      (error: { code?: string }) => error.code,
    );

    expect(planted.exit.exitCode).toBe(0);
    expect(outcome).toEqual(code ?? expect.stringContaining("still here"));
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe("a file of the home", () => {
  it("is not written below a symlink, and a symlink beside it does not matter", async () => {
    await using host = await createHostHome();
    const { session, sh } = await open(host);
    await sh('mkdir leak && rm -rf "$HOME/.local" && ln -s /workspace/leak "$HOME/.local"');

    await expect(session.appendFile(".local/log.txt", "x")).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
    await session.appendFile("log.txt", "x");
    expect(readdirSync(join(directory, "leak"))).toEqual([]);
  });
});
