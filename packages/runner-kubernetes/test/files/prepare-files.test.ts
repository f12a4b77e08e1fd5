import { expect, it } from "vitest";
import { prepareFiles } from "../../src/files/prepare-files.ts";
import type { LivePod } from "../../src/session/live-pod.ts";

it("a preparation that failed is over only once all of it is", async () => {
  const did: string[] = [];
  let finish: () => void = () => undefined;
  const filled = new Promise<void>((resolve) => (finish = resolve));
  const preparing = prepareFiles(
    {} as LivePod,
    { argv: ["true"], env: {}, projections: [] },
    {
      copy: { findCovers: () => Promise.reject(new Error("no copy")) },
      filling: { fill: () => filled.then(() => void did.push("filled")) },
      shownPath: undefined,
      signal: new AbortController().signal,
    },
  );
  preparing.catch(() => did.push("failed"));
  await new Promise((resolve) => setImmediate(resolve));
  finish();
  await expect(preparing).rejects.toThrow("no copy");
  expect(did).toEqual(["filled", "failed"]);
});
