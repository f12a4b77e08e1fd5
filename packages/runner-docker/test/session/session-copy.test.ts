import { createSessionId } from "@budgie/core";
import { expect, it } from "vitest";
import { offerCopy } from "../../src/session/offer-copy.ts";
import { createSessionCopy, type CopyPlace } from "../../src/session/session-copy.ts";
import { createFakeEngine } from "../helpers/fake-engine.ts";

it("The removal of a fill that failed leaves alone what a later fill made", async () => {
  // It lacks the image of the container through which a copy is filled.
  await using engine = await createFakeEngine({ "POST /volumes/create": {} });
  const removals: (() => Promise<unknown>)[] = [];
  const copy = createCopy({
    docker: engine.docker,
    platform: "linux/amd64",
    pendingRemovals: {
      suspect: () => undefined,
      remove(attempt: () => Promise<unknown>) {
        removals.push(attempt);
        return { firstAttempt: Promise.reject(new Error("The engine does not answer.")) };
      },
    },
  });
  await expect(copy.fill(NOTHING)).rejects.toThrow();
  await expect(copy.fill(NOTHING)).rejects.toThrow();
  const count = () => engine.requests.filter((request) => request.startsWith("DELETE /volumes/")).length;
  const before = count();

  await removals[0]?.();
  expect(count()).toBe(before);

  await removals[1]?.();
  expect(count()).toBe(before + 1);
});

it.each([
  ["unix:///x", { socketPath: "/x" }, false],
  ["ssh://me@there", { host: "there" }, true],
])("A copy on the engine at %s needs permission if that is elsewhere", (url, address, isElsewhere) => {
  const copy = createCopy({});
  const open = (allowsRemoteCopy: boolean) => {
    const engine = { name: "Docker", endpoint: { url, address } };
    return offerCopy({ engine, allowsRemoteCopy } as unknown as Parameters<typeof offerCopy>[0], copy).copy?.();
  };

  expect(open(true)).toBe(copy);
  if (!isElsewhere) expect(open(false)).toBe(copy);
  else {
    expect(() => open(false)).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining(`${url}. If`) }),
    );
  }
});
it("A copy over a base that the engine refuses is given up, for this copy and the next, and nothing of it is left", async () => {
  await using engine = await createFakeEngine({
    // The layers, and then the overlay itself
    "POST /volumes/create": [MADE, MADE, { status: 500, body: { message: "no such file system" } }],
  });
  const held: string[] = [];
  let isUsable = true;
  const copyBases = {
    areUsable: () => isUsable,
    giveUp: () => void (isUsable = false),
    hold: async ({ id }: { readonly id: string }) => (held.push(id), "/volumes/base"),
    find: async () => undefined,
    release: () => void held.pop(),
    close: async () => undefined,
  };
  const copy = createCopy(refusingEngine(engine.docker), copyBases);
  const base = { id: "base", directory: "/d", entries: () => NOTHING };

  expect([await copy.fillOver?.(base), isUsable, held]).toEqual([undefined, false, []]);
  const before = engine.requests.length;
  expect(await copy.fillOver?.(base)).toBeUndefined();

  expect(engine.requests).toHaveLength(before);
  const removed = engine.requests.filter((request) => request.startsWith("DELETE")).slice(-3);
  expect(removed.map((request) => request.split("/").at(-1))).toEqual([
    "budgie-copy",
    "budgie-copy-upper",
    "budgie-copy-work",
  ]);
});

const MADE = { status: 201, body: { Driver: "local", Options: null, Mountpoint: "/volumes/layer" } };

function refusingEngine(docker: unknown) {
  return {
    docker,
    platform: "linux/amd64",
    pendingRemovals: {
      suspect: () => undefined,
      trust: () => undefined,
      remove: (attempt: () => Promise<unknown>) => ({ firstAttempt: attempt() }),
    },
  };
}

const NOTHING = (async function* () {})();

function createCopy(engine: unknown, copyBases?: unknown) {
  const owner = { record: { instance: "i", host: "h", lock: "/l", pid: 1, started: "1" } };
  const context = {
    copyBases,
    engine,
    owner,
    user: { uid: 1000, gid: 1000 },
    image: { name: "image", id: "sha256:1" },
  };
  const session = createSessionId();
  const place: CopyPlace = {
    session,
    volume: { name: "budgie-copy", labels: {} },
    origin: "new",
    standby: { clear: async () => undefined },
    processes: { lastGone: async () => undefined, lastStill: async () => undefined },
  };
  return createSessionCopy(context as unknown as Parameters<typeof createSessionCopy>[0], place);
}
