import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Docker from "dockerode";
import { afterAll, describe, expect, it } from "vitest";
import type { ContainerRoot } from "@budgie/sandbox/proc";
import { createHomeArchive } from "../../src/container-files/create-home-archive.ts";

const place = mkdtempSync(join(tmpdir(), "budgie-home-archive-"));
afterAll(() => rmSync(place, { recursive: true }));
mkdirSync(join(place, "home/agent/inner"), { recursive: true });
symlinkSync("inner", join(place, "home/agent/link"));

const OPEN = toRoot(place);
// Like the root of a process that ended once it was opened.
const ENDED = toRoot(join(place, "ended"));

const USER = { uid: 1000, gid: 1000 };
const ENTRY = { path: "/home/agent/link/log.txt", content: Buffer.from("leak"), mode: 0o600 };

describe("a home on an engine that follows symlinks when asked about them", () => {
  it.each([
    ["at once", [OPEN]],
    ["after others that the kernel refused", [undefined, undefined, undefined, OPEN]],
    ["after another in which the container ended", [ENDED, OPEN]],
  ])("is not written through a symlink that a look shows %s", async (_, looks) => {
    const engine = createEngine({ looks });

    await expect(engine.archive.write([ENTRY])).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
    expect(engine.written()).toEqual([]);
  });

  it.each([
    ["ended during it", [ENDED]],
    ["has no process", []],
  ])("is not used if the look is impossible since the container %s", async (_, looks) => {
    const engine = createEngine({ looks, pid: 0 });

    await expect(engine.archive.write([ENTRY])).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
    await expect(engine.archive.readFile("link/log.txt", 10)).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
    expect(engine.written()).toEqual([]);
  });

  it("is written after the engine's answer where budgie can look into no container", async () => {
    const engine = createEngine({ looks: [], isVisible: false });

    await engine.archive.write([ENTRY]);

    expect(engine.written()).toEqual(["/home/"]);
  });
});

type EngineSetup = {
  /** The results of the looks, the last of which repeats; `[]` if none is possible */
  readonly looks: readonly (ContainerRoot | undefined)[];
  readonly pid?: number;
  readonly isVisible?: boolean;
};

/** Creates the archive of a container about which the engine, like Podman, reports the targets of symlinks. */
function createEngine({ isVisible = true, looks, pid = 1 }: EngineSetup) {
  const written: string[] = [];
  const folder = Buffer.from(JSON.stringify({ mode: 2 ** 31 + 0o700, size: 0 })).toString("base64");
  const handle = {
    inspect: async () => ({ Id: "id", State: { Pid: pid } }),
    infoArchive: async () => ({ headers: { "x-docker-container-path-stat": folder } }),
    putArchive: async (_: unknown, { path }: { path: string }) => void written.push(path),
  } as unknown as Docker.Container;
  let made = 0;
  const openRoot = async () => looks[Math.min(made++, looks.length - 1)];
  const archive = createHomeArchive(
    { handle, openRoot, whileRunning: (use) => use(isVisible), lend: (use) => use(handle) },
    USER,
  );
  return { archive, written: () => written };
}

function toRoot(path: string): ContainerRoot {
  return {
    path,
    readMounts: async () => "",
    hasEnded: async () => false,
    [Symbol.asyncDispose]: async () => undefined,
  };
}
