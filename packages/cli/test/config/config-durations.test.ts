import { homedir } from "node:os";
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/config.ts";
import { toSilentHost } from "../helpers/to-silent-host.ts";

const host = toSilentHost({ home: homedir(), cwd: "/" });

describe("options that are durations", () => {
  it.each([
    ["auto", "auto"],
    ["never", "never"],
    ["50s", 50_000],
  ])("accept %j as a soft deadline", (softDeadline, expected) => {
    expect(parseConfig({ softDeadline }, host).softDeadline).toBe(expected);
  });

  it.each([
    [{ sessionTtl: "3651d" }, 'Expected --session-ttl (or BUDGIE_SESSION_TTL) to be at most 3650d, got "3651d".'],
    [{ heartbeat: "0" }, 'Expected --heartbeat (or BUDGIE_HEARTBEAT) to be longer than 0, got "0".'],
    [{ heartbeat: "2h" }, 'Expected --heartbeat (or BUDGIE_HEARTBEAT) to be at most 1h, got "2h".'],
    [
      { softDeadline: "0s" },
      'Expected --soft-deadline (or BUDGIE_SOFT_DEADLINE), if not "auto" or "never", to be longer than 0, got "0s".',
    ],
    [
      { softDeadline: "25h" },
      'Expected --soft-deadline (or BUDGIE_SOFT_DEADLINE), if not "auto" or "never", to be at most 24h, got "25h".',
    ],
    [
      { softDeadline: "soon" },
      'Expected --soft-deadline (or BUDGIE_SOFT_DEADLINE), if not "auto" or "never", to be a duration such as "90s", "10m" or "1h30m", got "soon".',
    ],
  ])("refuse %j", (values, message) => {
    expect(() => parseConfig(values, host)).toThrow(message);
  });
});
