import { expect, it } from "vitest";
import { EXAMPLES } from "../../src/commands/examples.ts";
import { createParser, listCommands, parseCommandLine } from "../options/parse-command-line.ts";

const COMMANDS = listCommands(createParser());

it.each(COMMANDS.map(({ path }) => path))("The help of budgie %s has an example, which parses", async (path) => {
  const example = EXAMPLES[path] ?? "";

  const ran = await parseCommandLine(example);

  let help = "";
  const named = listCommands(createParser()).find((each) => each.path === path);
  named?.command.configureOutput({ writeOut: (text) => void (help += text) }).outputHelp();
  expect(example.startsWith(path)).toBe(true);
  expect(help).toContain(`Example: budgie ${example}`);
  expect(ran).toHaveLength(1);
});

it("An example with an option that does not exist does not parse", async () => {
  await expect(parseCommandLine("runs ls --nowhere")).rejects.toThrow("--nowhere");
});
