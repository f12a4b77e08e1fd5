import { describe, expect, it } from "vitest";
import { toVerdict } from "../../../scripts/lib/failed-tests.mjs";

const failed = (path: string, ...isLate: readonly boolean[]) => ({
  path,
  project: "docker",
  failures: isLate.map((late) => ({ title: "is held", text: "", isLate: late })),
});

describe("the verdict on a run's failed files", () => {
  it("runs up to three of them once more", () => {
    const files = [failed("a.test.ts", false), failed("b.test.ts", true, false), failed("c.test.ts", true)];

    expect(toVerdict({ files, unhandled: 0 }, 3)).toEqual({ again: files });
    expect(toVerdict({ files, unhandled: 0 }, 2)).toMatchObject({
      again: [],
      why: expect.stringContaining("at most 3"),
    });
  });

  it.each([
    "packages/claims/test/network/proxy.docker.test.ts",
    "packages/claims/test/prove.docker.test.ts",
    "packages/cli/test/faults/budgie.faults.test.ts",
    "packages/runner-docker/test/isolation.docker.test.ts",
    "packages/runner-docker/test/session/planted-home.docker.test.ts",
  ])("runs %s again only if all of its failures are timeouts or of its set-up", (path) => {
    const late = failed(path, true, true);

    expect(toVerdict({ files: [late], unhandled: 0 }, 3)).toEqual({ again: [late] });
    expect(toVerdict({ files: [failed(path, true, false)], unhandled: 0 }, 3)).toMatchObject({
      again: [],
      why: expect.stringContaining(path),
    });
  });

  it.each([
    ["vitest ended before its tests did", undefined],
    ["no test failed", { files: [], unhandled: 0 }],
    ["an error belongs to no test", { files: [failed("a.test.ts", true)], unhandled: 1 }],
  ])("runs nothing again if %s", (_what, report) => {
    expect(toVerdict(report, 3)).toMatchObject({ again: [], why: expect.any(String) });
  });
});
