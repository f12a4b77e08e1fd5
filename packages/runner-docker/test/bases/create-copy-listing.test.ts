import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createCopyListing } from "../../src/bases/create-copy-listing.ts";

let place: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "budgie-listing-"));
  for (const name of ["one", "other", "upper-one", "upper-other"]) mkdirSync(join(place, name));
});
afterEach(() => rmSync(place, { recursive: true }));

/** Creates a listing that counts what it lists, and finds nothing in the first of these calls. */
function createCounted(failing = 0) {
  let count = 0;
  const listing = createCopyListing(async () => (++count <= failing ? undefined : Buffer.from(`listing ${count}`)));
  const list = async (copy: string, base = "/base") => {
    await using folder = await open(join(place, copy));
    return String(await listing(folder, { base, upper: join(place, `upper-${copy}`) }));
  };
  return { list, listing };
}

it("copies over which nothing was written are listed once", async () => {
  const { list } = createCounted();

  expect(await Promise.all([list("one"), list("other")])).toEqual(["listing 1", "listing 1"]);
  expect(await list("one")).toBe("listing 1");
  expect(await list("one", "/other-base")).toBe("listing 2");
});

it("a copy over which something was written, or whose own mode is another, has a listing of its own", async () => {
  const { list } = createCounted();
  await list("one");
  writeFileSync(join(place, "upper-other/new"), "");
  expect(await list("other")).toBe("listing 2");
  rmSync(join(place, "upper-other/new"));
  expect(await list("other")).toBe("listing 1");

  chmodSync(join(place, "other"), 0o700);

  expect(await list("other")).toBe("listing 3");
});

it("a copy over no base, and one whose upper folder cannot be seen, are listed each time", async () => {
  const { list, listing } = createCounted();
  rmSync(join(place, "upper-one"), { recursive: true });
  expect([await list("one"), await list("one")]).toEqual(["listing 1", "listing 2"]);
  await using folder = await open(join(place, "other"));

  expect([await listing(folder, undefined), await listing(folder, undefined)].map(String)).toEqual([
    "listing 3",
    "listing 4",
  ]);
});

it("a listing that failed is not kept", async () => {
  const { list } = createCounted(1);

  expect(await list("one")).toBe("listing 2");
  expect(await list("other")).toBe("listing 3");
});
