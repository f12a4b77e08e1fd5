import { describe, expect, it } from "vitest";
import { unpack } from "../../src/container-files/unpack.ts";

describe("unpack", () => {
  it("repeats the call if another process created a folder at the same moment", async () => {
    const engine = createEngine([lostRace("/home/agent"), lostRace("/home/agent/.kiro")]);

    await unpack(engine.put, 5);

    expect(engine.tries()).toBe(3);
  });

  it("repeats the call at most once for each folder", async () => {
    const engine = createEngine(Array.from({ length: 9 }, () => lostRace("/home/agent")));

    await expect(unpack(engine.put, 2)).rejects.toThrow("file exists");
    expect(engine.tries()).toBe(3);
  });

  it.each([
    refusal(500, "Error processing tar file(exit status 1): no space left on device"),
    refusal(404, "mkdir /home/agent: file exists"),
    new Error("mkdir /home/agent: file exists"),
  ])("rethrows other errors: %s", async (error) => {
    const engine = createEngine([error]);

    await expect(unpack(engine.put, 5)).rejects.toBe(error);
    expect(engine.tries()).toBe(1);
  });
});

/** Creates a call that fails with these errors, and then succeeds. */
function createEngine(failures: readonly Error[]) {
  let tries = 0;
  const put = async (): Promise<void> => {
    const failure = failures[tries++];
    if (failure !== undefined) throw failure;
  };
  return { put, tries: () => tries };
}

function lostRace(folder: string): Error {
  return refusal(
    500,
    `(HTTP code 500) server error - Error processing tar file(exit status 1): mkdir ${folder}: file exists`,
  );
}

function refusal(statusCode: number, message: string): Error {
  return Object.assign(new Error(message), { statusCode });
}
