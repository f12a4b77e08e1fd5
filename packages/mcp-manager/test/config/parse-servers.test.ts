import { describe, expect, it } from "vitest";
import { parseServers } from "../../src/config/parse-servers.ts";

const SETTINGS = {
  file: "/home/me/.kiro/settings/mcp.json",
  content: { mcpServers: { shared: { command: "from-settings" }, extra: { url: "https://example.com/mcp" } } },
};

function parse(mcpServers: unknown, more: Readonly<Record<string, unknown>> = {}) {
  return parseServers({ agent: { file: "a.json", content: { mcpServers, ...more } }, settings: () => SETTINGS });
}

describe("the servers of an agent's file", () => {
  it("start a program for a command, with defaults for the rest", () => {
    const { broken, servers } = parse({
      github: { command: "npx", args: ["-y", "x"], env: { A: "$A" }, autoApprove: ["*"] },
    });

    expect(broken.size).toBe(0);
    expect(servers).toEqual([
      {
        name: "github",
        type: "stdio",
        command: "npx",
        args: ["-y", "x"],
        env: { A: "$A" },
        timeoutMs: 120_000,
        disabled: false,
        disabledTools: [],
        from: '"mcpServers.github" in "a.json"',
      },
    ]);
  });

  it("are reached over HTTP for an address", () => {
    const { servers } = parse({
      far: { url: "https://x.example/mcp", headers: { "X-Key": "${KEY}" }, timeout: 5, disabled: true },
    });

    expect(servers).toMatchObject([
      { type: "http", url: "https://x.example/mcp", headers: { "X-Key": "${KEY}" }, timeoutMs: 5, disabled: true },
    ]);
  });

  it.each([{}, { includeMcpJson: false }, { useLegacyMcpJson: "true" }])(
    "are all that count if the file says %j",
    (more) => {
      expect(parse({ shared: { command: "own" } }, more).servers.map(({ name }) => name)).toEqual(["shared"]);
    },
  );

  it.each([{ includeMcpJson: true }, { useLegacyMcpJson: true }])(
    "go before those of the user's settings, which %j includes",
    (more) => {
      const { servers } = parse({ shared: { command: "own" } }, more);

      expect(servers.map(({ from, name }) => [name, from])).toEqual([
        ["shared", '"mcpServers.shared" in "a.json"'],
        ["extra", '"mcpServers.extra" in "/home/me/.kiro/settings/mcp.json"'],
      ]);
    },
  );

  it.each<[string, unknown, RegExp]>([
    ["without a command or an address", {}, /to have "command" or "url"\.$/],
    ["with both", { command: "x", url: "https://x.example" }, /not both/],
    ["with an address that is not encrypted", { url: "http://x.example/mcp" }, /https, or http on this machine/],
    ["with a password in the address", { url: "https://me:secret@x.example" }, /to have a "url"/],
    ["with a wrong list", { command: "x", args: "y" }, /wrong at "args"/],
    ["with a header that is none", { url: "https://x.example", headers: { "a b": "" } }, /wrong at "headers/],
    ["from a registry that is not given", { type: "registry" }, /no registry file is given/],
  ])("are broken one by one: an entry %s", (_, entry, message) => {
    const { broken, servers } = parse({ wrong: entry, fine: { command: "x" } });

    expect(servers.map(({ name }) => name)).toEqual(["fine"]);
    expect(broken.get("wrong")).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringMatching(message) });
    expect(broken.get("wrong")?.message).not.toContain("secret");
  });

  it.each(["a/b", "-a", "builtin", "a\nb", "x".repeat(65)])("cannot have the name %j", (name) => {
    expect([...parse({ [name]: { command: "x" } }).broken.keys()]).toEqual([name]);
  });

  it("may be http on this machine", () => {
    const { servers } = parse({
      a: { url: "http://127.0.0.1:1/mcp" },
      b: { url: "http://localhost/" },
      c: { url: "http://[::1]/" },
    });

    expect(servers).toHaveLength(3);
  });

  it("are none if the file has none, and an error if they are no object", () => {
    expect(parse(undefined).servers).toEqual([]);
    expect(() => parse([])).toThrow('Expected "mcpServers" in "a.json" to be an object.');
  });
});

describe("a server from a registry", () => {
  const registry = {
    file: "registry.json",
    content: {
      servers: [
        {
          server: {
            name: "far",
            remotes: [{ url: "https://far.example/mcp", headers: [{ name: "X", value: "${X}" }] }],
          },
        },
        {
          name: "npm",
          packages: [
            { registryType: "oci", identifier: "image" },
            {
              registryType: "npm",
              identifier: "@x/server",
              version: "1.2.3",
              packageArguments: [{ name: "--root", value: "/tmp" }],
              environmentVariables: [{ name: "A", value: "1" }, { name: "B" }],
            },
          ],
        },
        { name: "image", packages: [{ registryType: "oci", identifier: "image" }] },
        "nonsense",
      ],
    },
  };

  function find(entry: Readonly<Record<string, unknown>>, name: string) {
    const content = { mcpServers: { [name]: { type: "registry", ...entry } } };
    return parseServers({ agent: { file: "a.json", content }, registry: () => registry });
  }

  it("has the address of the registry, and the settings of the entry", () => {
    expect(find({ headers: { Y: "2" }, timeout: 7 }, "far").servers).toMatchObject([
      { type: "http", url: "https://far.example/mcp", headers: { X: "${X}", Y: "2" }, timeoutMs: 7 },
    ]);
  });

  it("is a package that npx runs, in the registry's version", () => {
    expect(find({ env: { A: "2" } }, "npm").servers).toMatchObject([
      { command: "npx", args: ["-y", "@x/server@1.2.3", "--root", "/tmp"], env: { A: "2" } },
    ]);
  });

  it.each([
    ["unknown", /has none of this name/],
    ["image", /no address or npm or PyPI package/],
  ])("is broken if the registry says nothing usable of %j", (name, message) => {
    expect(find({}, name).broken.get(name)?.message).toMatch(message);
  });
});
