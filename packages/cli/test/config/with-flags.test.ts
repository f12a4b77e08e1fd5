import { Command } from "commander";
import { BudgieError, OPTION_NAMES, formatOption } from "@budgie/core";
import { describe, expect, it } from "vitest";
import { addServerOptions } from "../../src/commands/server-options.ts";
import { withFlags } from "@budgie/mcp-server";
import { toErrorResult } from "@budgie/mcp-server/commands";

describe("a message of a package", () => {
  it.each(OPTION_NAMES)("names the option %s as the command line does", (name) => {
    const program = new Command();
    addServerOptions(program);
    const ofGc = "--force";

    const words = withFlags(`Choose another by ${formatOption(name)}.`);

    expect([...program.options.map(({ long }) => long), ofGc]).toContain(words.match(/--[a-z-]+/)?.[0]);
    expect(words).not.toContain("the option");
  });

  it("keeps all else, such as an option that no package has", () => {
    expect(withFlags('Leave the option "other" out of "stateDir".')).toBe(
      'Leave the option "other" out of "stateDir".',
    );
  });

  it("has the command line's names in the result of a call", () => {
    const error = new BudgieError("IMAGE_NOT_FOUND", `Name another with ${formatOption("image")}.`);

    expect(toErrorResult(error)).toMatchObject({
      content: [{ text: "IMAGE_NOT_FOUND: Name another with --sandbox-image." }],
      structuredContent: { message: "Name another with --sandbox-image." },
    });
  });
});
