import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startHttpBudgie, type HttpBudgie } from "../../../mcp-server/test/mcp/http/start-http-budgie.ts";
import { createBudgieUser, type BudgieUser } from "../helpers/start-budgie.ts";
import { BASELINE, listScenarios, NEXT_SUITE, readBaseline, runSuite, SUITE } from "./conformance.ts";
import { startConformanceFixture } from "./conformance-fixture.ts";

// Features that a server with tools only does not have.
const OUTSIDE_TOOLS =
  /^(?:completion|elicitation|logging|prompts|resources)-|^tools-call-(?:elicitation|sampling|with-logging)$/;

const ALL_EXPECTED = /^Baseline check passed: all failures are expected\.$/m;

describe("the conformance suite's baseline", () => {
  it("lists only scenarios outside of tools", async () => {
    const scenarios = await listScenarios(SUITE);

    expect(readBaseline()).toEqual(scenarios.filter((name) => OUTSIDE_TOOLS.test(name)));
  });

  it("may not list any of these", async () => {
    const scenarios = await listScenarios(SUITE);

    expect(scenarios.filter((name) => !OUTSIDE_TOOLS.test(name))).toEqual([
      "server-initialize",
      "ping",
      "tools-list",
      "tools-call-simple-text",
      "tools-call-image",
      "tools-call-audio",
      "tools-call-embedded-resource",
      "tools-call-mixed-content",
      "tools-call-error",
      "tools-call-with-progress",
      "json-schema-2020-12",
      "server-sse-polling",
      "server-sse-multiple-streams",
      "dns-rebinding-protection",
    ]);
  });
});

describe("budgie's HTTP server with the conformance suite's tools", () => {
  it("passes everything that is not in the baseline", async () => {
    await using fixture = await startConformanceFixture();

    const { exitCode, text } = await runSuite(SUITE, fixture.url, ["--expected-failures", BASELINE]);

    expect(text).toMatch(ALL_EXPECTED);
    expect(exitCode).toBe(0);
  });

  // The suite skips it by default, and also server-sse-polling, for which it considers this version too old.
  it("passes json-schema-2020-12", async () => {
    await using fixture = await startConformanceFixture();

    const { exitCode, text } = await runSuite(SUITE, fixture.url, ["--scenario", "json-schema-2020-12"]);

    expect(text).toContain("Passed: 4/4, 0 failed, 0 warnings");
    expect(exitCode).toBe(0);
  });

  // Needs Node 22: BUDGIE_NODE22=/path/to/node22
  it.runIf(NEXT_SUITE.node)(
    "passes everything that MCP 2025-11-25 requires and that is not in the baseline",
    async () => {
      await using fixture = await startConformanceFixture();
      const required = ["--requirements", "2025-11-25", "--expected-failures", BASELINE];

      const { exitCode, text } = await runSuite(NEXT_SUITE, fixture.url, required);

      expect(text).toMatch(ALL_EXPECTED);
      expect(exitCode).toBe(0);
    },
  );
});

describe("budgie --transport http", () => {
  let user: BudgieUser;
  let budgie: HttpBudgie;

  beforeAll(async () => {
    user = await createBudgieUser();
    budgie = await startHttpBudgie(user);
  });
  afterAll(async () => {
    await budgie[Symbol.asyncDispose]();
    await user[Symbol.asyncDispose]();
  });

  it.each(["server-initialize", "ping", "tools-list", "server-sse-multiple-streams", "dns-rebinding-protection"])(
    "passes %s of the conformance suite",
    async (scenario) => {
      const { exitCode, text } = await runSuite(SUITE, budgie.url.href, ["--scenario", scenario]);

      expect(text).toMatch(/^Passed: ([1-9])\/\1, 0 failed, 0 warnings$/m);
      expect(exitCode).toBe(0);
    },
  );
});
