import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CLAIMS } from "@budgie/claims";
import { ON_CLUSTER } from "./helpers/on-cluster.ts";

const ROW = /^\| ((?:`[\w-]+`(?:, )?)+) \| (kept|changed|gone|budgie's own)(?::|\b)/gm;

describe("the table of claims in docs/kubernetes.md", () => {
  const page = readFileSync(new URL("../../../docs/kubernetes.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(ROW)].map(([, ids = "", how = ""]) => ({ how, ids: ids.match(/[\w-]+/g) ?? [] }));
  const listOf = (...hows: readonly string[]) =>
    rows.flatMap(({ how, ids }) => (hows.includes(how) ? ids : [])).toSorted();

  it("has each claim once", () => {
    expect(listOf("kept", "changed", "gone", "budgie's own")).toEqual(CLAIMS.map(({ id }) => id).toSorted());
  });

  it("says of those that are tried on a node, and of no others, that they are kept or changed", () => {
    expect(listOf("kept", "changed")).toEqual(Object.keys(ON_CLUSTER).toSorted());
  });

  it("says of those with an attack that gets through, and of no others, that they are changed", () => {
    const isChanged = (id: string) => (ON_CLUSTER[id]?.open ?? []).length > 0;

    expect(listOf("changed")).toEqual(Object.keys(ON_CLUSTER).filter(isChanged).toSorted());
  });

  it("is about attacks that exist", () => {
    const names = new Set(CLAIMS.flatMap(({ id, probes }) => probes.map(({ name }) => `${id}: ${name}`)));
    const told = Object.entries(ON_CLUSTER).flatMap(([id, { alone = [], moot = [], open = [] }]) =>
      [...alone, ...moot, ...open].map((name) => `${id}: ${name}`),
    );

    expect(told.filter((name) => !names.has(name))).toEqual([]);
  });
});
