import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { createRemoteEgressProxy } from "../../src/remote/remote-egress-proxy.ts";

it("a proxy whose process sends an endless line is given up", async () => {
  const stdout = new PassThrough();

  const creating = createRemoteEgressProxy({ stdin: new PassThrough(), stdout });
  stdout.write("x".repeat(2 ** 20 + 1));

  await expect(creating).rejects.toMatchObject({
    code: "RUNNER_UNAVAILABLE",
    message: expect.stringContaining("its process has ended"),
  });
});
