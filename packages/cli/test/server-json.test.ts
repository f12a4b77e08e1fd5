import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const root = new URL("../../../", import.meta.url);

// The registry's schema of 2025-12-11 for a server from npm; strict, so that a misspelt key fails.
const word = z.string().min(1);
const exact = word.regex(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/);
const argument = z.strictObject({
  type: z.literal("named"),
  name: word,
  value: z.string().optional(),
  description: z.string().optional(),
  isRequired: z.boolean().optional(),
  isRepeated: z.boolean().optional(),
});
const serverSchema = z.strictObject({
  $schema: z.literal("https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"),
  name: z
    .string()
    .min(3)
    .max(200)
    .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
  title: word.max(100),
  description: word.max(100),
  version: exact,
  websiteUrl: z.url().optional(),
  repository: z.strictObject({ url: z.url(), source: word, subfolder: word.optional() }).optional(),
  packages: z.array(
    z.strictObject({
      registryType: z.literal("npm"),
      identifier: word,
      version: exact,
      runtimeHint: word.optional(),
      transport: z.strictObject({ type: z.literal("stdio") }),
      packageArguments: z.array(argument).optional(),
    }),
  ),
});

type Manifest = {
  readonly name: string;
  readonly version: string;
  readonly mcpName?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
};

function load<T>(path: string): T {
  return JSON.parse(readFileSync(new URL(path, root), "utf8")) as T;
}

const folders = readdirSync(new URL("packages", root)).map((name) => `packages/${name}`);
const manifests = folders.map((folder) => load<Manifest>(`${folder}/package.json`));
const server = serverSchema.parse(load("server.json"));

describe("server.json", () => {
  it("names the package of the program, which names it too", () => {
    const named = manifests.filter(({ mcpName }) => mcpName !== undefined);

    expect(server.packages.map(({ identifier }) => identifier)).toEqual(["budgie-mcp"]);
    expect(named.map(({ mcpName, name }) => [name, mcpName])).toEqual([["budgie-mcp", server.name]]);
  });

  it("is refused by this test if the registry would refuse it", () => {
    const [npm] = server.packages;
    const bad = [
      { ...server, name: "budgie" },
      { ...server, description: "x".repeat(101) },
      { ...server, version: "^0.1.0" },
      { ...server, packages: [{ ...npm, version: "latest" }] },
      { ...server, packages: [{ ...npm, transport: { type: "pipe" } }] },
      { ...server, mcpName: "x" },
    ];

    expect(bad.map((each) => serverSchema.safeParse(each).success)).toEqual(bad.map(() => false));
  });
});

describe("the version", () => {
  it("is the same in all packages, and in their dependencies on each other", () => {
    const needed = manifests.flatMap(({ dependencies, devDependencies }) =>
      Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) => name.startsWith("@budgie/")),
    );

    expect(new Set(manifests.map(({ version }) => version))).toEqual(new Set([server.version]));
    expect(new Set(needed.map(([, version]) => version))).toEqual(new Set([server.version]));
    expect(server.packages.map(({ version }) => version)).toEqual([server.version]);
  });

  it("is the same in the lockfile", () => {
    const lock = load<{ packages: Readonly<Record<string, Manifest>> }>("package-lock.json");

    const locked = folders.map((folder) => lock.packages[folder]);

    expect(locked.map((each) => [each?.version, each?.dependencies])).toEqual(
      manifests.map(({ dependencies, version }) => [version, dependencies]),
    );
  });
});
