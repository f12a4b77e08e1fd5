import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { PACKAGES } from "./helpers/read-sources.ts";

type Manifest = {
  readonly name: string;
  readonly private?: boolean;
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly publishConfig?: { readonly access?: string };
};

const ROOT = dirname(PACKAGES);
const { workspaces = [] } = readManifest(".");
const manifests = workspaces.map(readManifest);

it("a release has every package, each after those that it needs", () => {
  const names = manifests.map(({ name }) => name);
  const early = manifests.flatMap(({ dependencies = {}, name }, index) =>
    Object.keys(dependencies).flatMap((needed) => (names.indexOf(needed) > index ? [`${name} before ${needed}`] : [])),
  );

  expect(workspaces.toSorted()).toEqual(readdirSync(PACKAGES).map((folder) => `packages/${folder}`));
  expect(early).toEqual([]);
});

it("a release publishes all but the testkit, and needs nothing that is not published", () => {
  const [kept, published] = [true, false].map((isKept) =>
    manifests.filter((each) => (each.private === true) === isKept),
  );
  const needed = new Set(published?.flatMap(({ dependencies = {} }) => Object.keys(dependencies)));

  expect(kept?.map(({ name }) => name)).toEqual(["@budgie/testkit"]);
  for (const { name } of kept ?? []) expect(needed).not.toContain(name);
  expect(published?.filter(({ publishConfig }) => publishConfig?.access !== "public")).toEqual([]);
});

it("the root of core has at most 60 names", () => {
  const surface = readFileSync(join(PACKAGES, "core/src/index.ts"), "utf8");
  const names = [...surface.matchAll(/\{([^}]*)\}/g)].flatMap(([, list = ""]) =>
    list.split(",").filter((name) => name.trim() !== ""),
  );

  expect(names.length).toBeGreaterThan(0);
  expect(names.length).toBeLessThanOrEqual(60);
});

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8")) as Manifest;
}
