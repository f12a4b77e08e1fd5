import { describe, expect, it } from "vitest";
import { parseKiroHelp } from "../../../src/kiro/help/parse-kiro-help.ts";

const BEGIN = `Starts a chat

Usage: kiro-cli chat [OPTIONS] [INPUT]

Arguments:
  [INPUT]  The first question; --v2 and --agent-engine are described below

Options:
  -r, --resume                Resumes the conversation of this directory
`;
const END = `  -a, --trust-all-tools       Allows the model to use any tool
  -h, --help                  Print help (see more with '--help')
`;

describe("parseKiroHelp", () => {
  it("finds neither flag in the help of an older version", () => {
    expect(parseKiroHelp(BEGIN + END)).toEqual({ hasV2: false, engines: undefined });
  });

  it("finds the engines of a short help, also across lines", () => {
    const short = "      --agent-engine <ENGINE>  The engine [default: v2] [possible values: v1, v2, v3]\n";
    const long =
      "      --agent-engine <ENGINE>\n          The engine [default: v2] [possible values: v1,\n          v2, v3]\n";

    for (const option of [short, long]) {
      expect(parseKiroHelp(BEGIN + option + END)).toEqual({ hasV2: false, engines: ["v1", "v2", "v3"] });
    }
  });

  it("finds the engines of a long help, and not those in their descriptions", () => {
    const option = `      --agent-engine <ENGINE>
          The engine of the agent

          Possible values:
          - v2: The engine before v3, which replaced v1
          - v3: The engine of today

          [default: v3]

`;

    expect(parseKiroHelp(BEGIN + option + END).engines).toEqual(["v2", "v3"]);
  });

  it("finds an engine flag whose values help does not name", () => {
    expect(parseKiroHelp(`${BEGIN}      --agent-engine <ENGINE>  v2 or v3\n${END}`).engines).toEqual([]);
  });

  it("finds `--v2` among coloured options, and not in a longer name or a description", () => {
    const coloured =
      "      \u001B[1m--v2\u001B[0m  Runs the V2 harness\r\n      \u001B[1m--v3\u001B[0m  Runs the V3 harness\r\n";

    expect(parseKiroHelp(BEGIN + coloured + END)).toEqual({ hasV2: true, engines: undefined });
    expect(parseKiroHelp(`${BEGIN}      --v2-preview  Like --v2\n${END}`).hasV2).toBe(false);
  });

  it("reads a flag beside its short form", () => {
    expect(parseKiroHelp(`${BEGIN}  -2, --v2  Runs the V2 harness\n${END}`).hasV2).toBe(true);
  });

  it.each([
    "",
    "\0".repeat(10),
    "error: unrecognized subcommand 'chat'\n",
    `${"- ".repeat(200_000)}--v2`,
    `possible values:${"\n".repeat(400_000)}`,
  ])("finds nothing in what is not a help", (text) => {
    expect(parseKiroHelp(text)).toEqual({ hasV2: false, engines: undefined });
  });
});
