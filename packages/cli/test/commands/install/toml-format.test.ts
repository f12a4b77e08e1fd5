import { describe, expect, it } from "vitest";
import type { ServerPath } from "../../../src/commands/install/config-format.ts";
import { tomlFormat } from "../../../src/commands/install/toml-format.ts";

const path: ServerPath = ["mcp_servers", "budgie"];
const entry = { command: "node", args: ["--sandbox"], tool_timeout_sec: 3600 };

const MINE = `# mine
model = "gpt" # the model

[mcp_servers.other]
command = 'x'
args = [ "a", # why
  "b",
]

[mcp_servers.other.env]
KEY = "sk-1"

# of profiles
[profiles.a]
text = """
[mcp_servers.other]
"""
when = 1979-05-27
large = 9007199254740993
`;

describe("tomlFormat", () => {
  it.each(["", "a = 1", "a = 1\n", "a = 1\r\n[b]\r\nc = 2\r\n", "a = 1\r\nb = 2", "# only this", MINE, MINE.trimEnd()])(
    "adds a table to %j, and restores every byte when it is removed",
    (text) => {
      const edited = tomlFormat.put(text, path, entry);

      expect(tomlFormat.parse(edited)).toMatchObject({ mcp_servers: { budgie: entry } });
      expect(edited.startsWith(text)).toBe(true);
      expect(edited.replaceAll("\r\n", "").includes("\n")).toBe(!text.includes("\r\n"));
      expect(tomlFormat.remove(edited, path)).toBe(text);
    },
  );

  it("removes its subtables, and not the comment of the next table", () => {
    const text = "[mcp_servers.budgie]\ncommand = 'x'\n\n[mcp_servers.budgie.env]\nA = '1'\n\n# next\n[next]\nb = 1\n";

    expect(tomlFormat.remove(text, path)).toBe("\n# next\n[next]\nb = 1\n");
  });

  it("sets keys of an existing table, and keeps the others with their comments", () => {
    const header = '[ mcp_servers . "budgie" ] # ours\n';
    const text = `${header}args = [\n  'a',\n  'b',\n]\n# kept\nenabled = false # off\n\n[next]\n`;

    const edited = tomlFormat.put(text, path, entry);

    expect(edited).toBe(
      `${header}args = [ "--sandbox" ]\n# kept\nenabled = false # off\n` +
        'command = "node"\ntool_timeout_sec = 3600\n\n[next]\n',
    );
  });

  it("keeps the file's line ends, and a missing last one", () => {
    const text = '[mcp_servers.budgie]\r\ncommand = "x"';

    expect(tomlFormat.put(text, path, { command: "y", a: 1 })).toBe('[mcp_servers.budgie]\r\ncommand = "y"\r\na = 1');
  });

  it("reports the position of a syntax error, and quotes nothing", () => {
    const text = 'a = 1\nkey = "sk-1\n';

    expect(() => tomlFormat.parse(text)).toThrow(/^[^"]* in line 2, column \d+$/);
    expect(() => tomlFormat.parse(text)).not.toThrow(/sk-1/);
  });

  it("hides all values and comments but the given ones", () => {
    const text =
      "# sk-1\n[mcp_servers.other]\nkey = 'sk-2'\nlist = [\n  ['sk-3'],\n]\n" +
      "[mcp_servers.budgie]\ncommand = 'node'\nargs = ['x'] # sk-4\n[mcp_servers.budgie.env]\ncommand = 'sk-5'\n";

    expect(tomlFormat.mask(text, path, new Set(["command", "args"]))).toBe(
      "…\n[mcp_servers.other]\nkey = …\nlist = …\n…\n…\n" +
        "[mcp_servers.budgie]\ncommand = 'node'\nargs = …\n[mcp_servers.budgie.env]\ncommand = …\n",
    );
  });
});
