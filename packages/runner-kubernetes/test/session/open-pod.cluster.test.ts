import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findClusterLack } from "@budgie/testkit";
import { SHAPE } from "../helpers/pod-shape.ts";
import { startPods } from "../helpers/start-pods.ts";

const lack = findClusterLack();

describe.skipIf(lack !== undefined)(`a session's Pod${lack === undefined ? "" : ` (skipped: ${lack})`}`, () => {
  let pods: Awaited<ReturnType<typeof startPods>>;

  beforeAll(async () => {
    pods = await startPods("pods");
  }, 300_000);
  afterAll(() => pods?.[Symbol.asyncDispose](), 60_000);

  it("runs processes after each other, and is gone after its removal", async () => {
    const pod = await pods.open();
    for (const input of ["first", "second"]) {
      expect(await pod.run({ argv: ["sh", "-c", "cat; echo to stderr >&2; exit 3"] }, input)).toMatchObject({
        stdout: input,
        stderr: "to stderr\n",
        exit: { exitCode: 3, reason: undefined },
      });
    }
    await pod.remove();
    expect(await pods.cluster.get("pods", pod.name)).toEqual({ outcome: "missing" });
  }, 200_000);

  it("waits for a quota and for a node with room, says so, and gives up after its limit", async () => {
    const said: string[] = [];
    const wait = { limitMs: 5_000, onWait: (why: string) => void said.push(why) };
    const shape = { ...SHAPE, limits: { ...SHAPE.limits, memoryBytes: 2 ** 50 } };

    await expect(pods.open({ shape, wait })).rejects.toMatchObject({ code: "QUEUE_FULL" });
    await pods.server.kubectl(["-n", "pods", "create", "quota", "none", "--hard=pods=0"]);
    await pods.server.kubectl(["-n", "pods", "wait", "--for=jsonpath={.status.hard.pods}=0", "quota/none"]);
    await expect(pods.open({ wait })).rejects.toMatchObject({
      code: "QUEUE_FULL",
      message: expect.stringContaining("exceeded quota"),
    });
    await pods.server.kubectl(["-n", "pods", "delete", "quota", "none"]);

    expect(said).toContainEqual(expect.stringContaining("Insufficient memory"));
    expect(said).toContainEqual(expect.stringContaining("exceeded quota"));
    expect(await pods.cluster.list("pods", pods.selector)).toEqual([]);
  }, 100_000);
});
