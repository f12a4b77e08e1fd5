import { Command } from "commander";
import { BudgieError, OPTION_NAMES, toOption } from "@budgie/core";
import { describe, expect, it } from "vitest";
import { addServerOptions } from "../../src/commands/server-options.ts";
import { toErrorResult } from "../../src/mcp/calls/tool-result.ts";
import { withFlags } from "../../src/terminal/with-flags.ts";

describe("a message of a package", () => {
  it.each(OPTION_NAMES)("names the option %s as the command line does", (name) => {
    const program = new Command();
    addServerOptions(program);
    const ofGc = "--force";

    const words = withFlags(`Choose another by ${toOption(name)}.`);

    expect([...program.options.map(({ long }) => long), ofGc]).toContain(words.match(/--[a-z-]+/)?.[0]);
    expect(words).not.toContain("the option");
  });

  it("keeps all else, such as an option that no package has", () => {
    expect(withFlags('Leave the option "other" out of "stateDir".')).toBe(
      'Leave the option "other" out of "stateDir".',
    );
  });

  it("has the command line's names in the result of a call", () => {
    const error = new BudgieError("IMAGE_NOT_FOUND", `Name another with ${toOption("image")}.`);

    expect(toErrorResult(error)).toMatchObject({
      content: [{ text: "IMAGE_NOT_FOUND: Name another with --sandbox-image." }],
      structuredContent: { message: "Name another with --sandbox-image." },
    });
  });
});
