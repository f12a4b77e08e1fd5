import { describe, expect, it } from "vitest";
import { isComplete, doubleDashes } from "../../src/commands/double-dashes.ts";

const flags = {
  valued: new Set(["agent-timeout", "tool-prefix", "env", "model"]),
  switches: new Set(["verbose", "sandbox"]),
};

describe("doubleDashes", () => {
  it.each([
    ["-agent-timeout 15m -verbose -sandbox", "--agent-timeout 15m --verbose --sandbox"],
    ["-agent-timeout=15m", "--agent-timeout=15m"],
    ["--agent-timeout 15m --verbose", "--agent-timeout 15m --verbose"],
    ["-model=a=b", "--model=a=b"],
    ["-verbose=true -sandbox=T", "--verbose --sandbox"],
    ["-verbose=false --sandbox=0", "--no-verbose --no-sandbox"],
    ["-verbose=maybe", "--verbose=maybe"],
    ["doctor -sandbox --json", "doctor --sandbox --json"],
  ])("rewrites %s", (before, after) => {
    expect(doubleDashes(before.split(" "), flags).join(" ")).toBe(after);
  });

  it.each([["-h"], ["-V"], ["-unknown"], ["-verbosely"], ["--no-sandbox"], ["gc-volumes"], ["-"], [""]])(
    "leaves %j unchanged",
    (argument) => {
      expect(doubleDashes([argument], flags)).toEqual([argument]);
    },
  );

  it("leaves an option's value unchanged, even if it looks like an option", () => {
    expect(doubleDashes(["-tool-prefix", "-verbose", "-verbose"], flags)).toEqual([
      "--tool-prefix",
      "-verbose",
      "--verbose",
    ]);
  });

  it("rewrites nothing after --", () => {
    expect(doubleDashes(["-verbose", "--", "-verbose"], flags)).toEqual(["--verbose", "--", "-verbose"]);
  });

  it("leaves an option without its value for the parser to refuse", () => {
    expect(doubleDashes(["-agent-timeout"], flags)).toEqual(["--agent-timeout"]);
  });
});

describe("isComplete", () => {
  const known = { ...flags, switches: new Set([...flags.switches, "help", "version"]) };

  it.each([[""], ["--sandbox --no-verbose"], ["--model m --env=A --sandbox"], ["--model --help"]])(
    'takes "%s" for the server\'s options alone',
    (line) => {
      expect(isComplete(line.split(" ").filter(Boolean), known)).toBe(true);
    },
  );

  it.each([
    ["doctor"],
    ["--sandbox serve"],
    ["--help"],
    ["--no-help"],
    ["-h"],
    ["--version"],
    ["--model"],
    ["--other"],
    ["--sandbox=maybe"],
    ["--"],
  ])('takes "%s" for more than the server\'s options', (line) => {
    expect(isComplete(line.split(" "), known)).toBe(false);
  });
});
