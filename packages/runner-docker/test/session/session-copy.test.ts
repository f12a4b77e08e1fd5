import { createSessionId } from "@budgie/core";
import { expect, it } from "vitest";
import { createSessionCopy, offerCopy, type CopyPlace } from "../../src/session/session-copy.ts";
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

const NOTHING = (async function* () {})();

function createCopy(engine: unknown) {
  const owner = { record: { instance: "i", host: "h", lock: "/l", pid: 1, started: "1" } };
  const context = { engine, owner, user: { uid: 1000, gid: 1000 }, image: { name: "image", id: "sha256:1" } };
  const session = createSessionId();
  const place: CopyPlace = {
    session,
    volume: { name: "budgie-copy", labels: {} },
    standby: { clear: async () => undefined },
    lastGone: async () => undefined,
  };
  return createSessionCopy(context as unknown as Parameters<typeof createSessionCopy>[0], place);
}
