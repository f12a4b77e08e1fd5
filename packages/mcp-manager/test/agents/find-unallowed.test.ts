import { startMockServer } from "@budgie/testkit";
import { describe, expect, it } from "vitest";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findUnallowed, readPins, storePins, type PinnedEntry } from "../../src/agents/find-unallowed.ts";
import type { McpServer } from "../../src/config/mcp-server.ts";
import { parseConfig } from "../../../cli/src/config/config.ts";
import { toServersConfig } from "../../../mcp-server/src/config/to-servers-config.ts";
import { toSilentHost } from "../../../cli/test/helpers/to-silent-host.ts";
import { setUp } from "../../../cli/test/helpers/served-agent.ts";

const SHARED = { name: "far", timeoutMs: 1000, disabled: false, disabledTools: [], from: "a file" };
const PROGRAM: McpServer = { ...SHARED, type: "stdio", command: "npx", args: ["a", "b"], env: { KEY: "$KEY", B: "2" } };
const ADDRESS: McpServer = { ...SHARED, type: "http", url: "https://a.test", headers: { "x-key": "1" }, scopes: [] };
const SANDBOX = { run: "sandbox", image: undefined, egress: { mode: "none", hosts: [] } } as const;
const HERE: PinnedEntry = { server: PROGRAM, place: { run: "host" }, names: ["KEY"] };
const THERE: PinnedEntry = { server: ADDRESS, place: { run: "address", hosts: [] }, names: [] };

function toPlace() {
  const home = mkdtempSync(join(tmpdir(), "budgie-pins-"));
  const host = toSilentHost({ home, cwd: home });
  const config = toServersConfig(parseConfig({}, host), host);
  return {
    config,
    find: (entry: PinnedEntry) => findUnallowed(entry, { agent: "coder", config, pins: () => readPins(config) }),
    file: join(config.stateDir, "mcp", "allowed.json"),
    [Symbol.dispose]: () => rmSync(home, { recursive: true }),
  };
}

describe("a server's entry", () => {
  it.each<[string, PinnedEntry, Partial<McpServer> | Partial<PinnedEntry>]>([
    ["command", HERE, { command: "sh" }],
    ["arguments", HERE, { args: ["a b"] }],
    ["variable's name", HERE, { env: { OTHER: "$KEY", B: "2" } }],
    ["variable's value", HERE, { env: { KEY: "$KEY", B: "3" } }],
    ["place", HERE, { place: SANDBOX }],
    ["image", { ...HERE, place: SANDBOX }, { place: { ...SANDBOX, image: "other" } }],
    ["list of the user's variables", HERE, { names: ["KEY", "TOKEN"] }],
    ["address", THERE, { url: "https://b.test" }],
    ["header's name", THERE, { headers: { "x-other": "1" } }],
    ["header's value", THERE, { headers: { "x-key": "$KEY" } }],
  ])("waits to be allowed, and again with another %s", (_, entry, change) => {
    using place = toPlace();
    const { name } = entry.server;
    const isAround = "place" in change || "names" in change;
    const changed = isAround
      ? { ...entry, ...change }
      : { ...entry, server: { ...entry.server, ...change } as McpServer };
    const [waiting, other] = [place.find(entry), place.find(changed)];
    if (waiting === undefined || other === undefined) throw new Error("Nothing waits.");

    storePins([waiting.pin], place.config);
    expect([place.find(entry), place.find(changed)?.pin]).toEqual([undefined, other.pin]);

    storePins([other.pin], place.config);
    expect([place.find(entry)?.pin, place.find(changed)]).toEqual([waiting.pin, undefined]);
    expect(waiting.todo).toBe(`budgie mcp allow ${name} --agent coder`);
  });

  it("keeps its permission with another file, timeout, list of tools or order", () => {
    using place = toPlace();
    storePins([place.find(HERE)?.pin as never], place.config);
    const env = { B: "2", KEY: "$KEY" };
    const other = { ...PROGRAM, env, from: "elsewhere", timeoutMs: 5, disabledTools: ["x"] };

    expect(place.find({ ...HERE, server: other })).toBeUndefined();
  });

  it("waits for nobody if it gets neither rights nor secrets of the user", () => {
    using place = toPlace();
    const bare: McpServer = { ...SHARED, type: "stdio", command: "npx", args: [], env: {} };

    expect(place.find({ server: bare, place: SANDBOX, names: [] })).toBeUndefined();
    expect(place.find({ server: { ...ADDRESS, headers: {} }, place: THERE.place, names: [] })).toBeUndefined();
    expect(place.find({ server: bare, place: SANDBOX, names: ["KEY"] })).toBeDefined();
    expect(place.find({ server: bare, place: { run: "host" }, names: [] })).toBeDefined();
  });
});

describe("the file of allowed entries", () => {
  it("is the user's alone, holds no values, and allows nothing as a symlink, too large or damaged", () => {
    using place = toPlace();
    const pin = place.find({ ...HERE, server: { ...PROGRAM, env: { KEY: "canary" } } })?.pin as never;
    storePins([pin], place.config);
    const text = readFileSync(place.file, "utf8");
    expect(readPins(place.config)).toEqual([pin]);
    expect(statSync(place.file).mode & 0o777).toBe(0o600);
    expect(text).not.toContain("canary");

    writeFileSync(place.file, text + " ".repeat(2 ** 20));
    expect(readPins(place.config)).toEqual([]);
    writeFileSync(place.file, text.slice(1));
    expect(readPins(place.config)).toEqual([]);
    writeFileSync(place.file, text);
    renameSync(place.file, `${place.file}.real`);
    symlinkSync(`${place.file}.real`, place.file);
    expect(readPins(place.config)).toEqual([]);

    storePins([pin], place.config);
    expect(readPins(place.config)).toEqual([pin]);
  });

  it("names what could not be written", () => {
    using place = toPlace();
    mkdirSync(place.file, { recursive: true });

    expect(() => storePins([{ agent: "coder", server: "far", hash: "" }], place.config)).toThrow(
      `Cannot write "${place.file}": EISDIR.`,
    );
  });
});

describe("an agent's turn", () => {
  it("starts no server whose entry nobody allowed, and says which command allows it", async () => {
    await using far = await startMockServer();
    await using setting = await setUp({ mcp: { here: { run: "host" }, far: {}, plain: {} }, allows: false });
    const servers = {
      here: { command: "no-such-program" },
      far: { url: far.url, headers: { "x-key": "canary" } },
      plain: { url: far.url },
    };

    const { mcpServers, warnings } = await setting.turn(servers);

    expect(mcpServers?.map(({ name }) => name)).toEqual(["plain"]);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^The MCP server "here" of the agent "coder" cannot be used: it runs on this machine, .* "budgie mcp allow here --agent coder --config \S+\/budgie\.json" /,
      ),
      expect.stringMatching(/^The MCP server "far" .* it has variables or headers, .* "budgie mcp allow far /),
    ]);
  });

  it("starts none that --allow-mcp alone allows either", async () => {
    await using setting = await setUp({ mcp: {}, args: { allowMcp: ["far"] }, allows: false });

    const { mcpServers, warnings } = await setting.turn({ far: { command: "x", env: { A: "1" } } });

    expect(mcpServers).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining("budgie mcp allow far")]);
  });

  it("ends a server that runs once its entry has changed", async () => {
    await using far = await startMockServer();
    await using setting = await setUp({ mcp: { far: {} }, allows: "first" });
    const toServers = (value: string) => ({ far: { url: far.url, headers: { "x-key": value } } });
    await expect.poll(() => setting.state(toServers("1"), 0)).toBe("ready");

    const { mcpServers, warnings } = await setting.turn(toServers("2"));

    expect(mcpServers).toBeUndefined();
    expect(warnings).toEqual([expect.stringContaining("its entry is new or has changed")]);
    await expect.poll(far.sessions).toBe(0);
  });
});
