import { Command } from "commander";
import { expect, it } from "vitest";
import { addServerOptions, listGivenOptions } from "../../src/commands/server-options.ts";

function list(argv: readonly string[], config: object = {}): readonly string[] {
  const program = new Command();
  addServerOptions(program);
  program.parse([...argv], { from: "user" });
  return listGivenOptions(program, config);
}

it("a client's server gets the options of the command line, with paths that hold in any directory", () => {
  const given = [
    "--sandbox-image",
    "shop:1",
    "--ca-file",
    "corp.pem",
    "--allow-host",
    "a.test,b.test",
    "--trust-all-tools",
  ];

  expect(new Set(list(given, { caFile: "/etc/corp.pem", sandboxImage: "shop:1", allowHost: [] }))).toEqual(
    new Set([
      "--sandbox-image",
      "shop:1",
      "--ca-file",
      "/etc/corp.pem",
      "--allow-host",
      "a.test",
      "b.test",
      "--trust-all-tools",
    ]),
  );
  expect(list(["--sandbox", "--allow-root", "/code"], { allowRoot: ["/code"] })).toEqual([]);
  expect(list([])).toEqual([]);
});
