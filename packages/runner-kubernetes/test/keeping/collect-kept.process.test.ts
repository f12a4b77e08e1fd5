import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ANY_AGE, WITHOUT_POD, beginKept, openKeptPod } from "./begin-kept.ts";

it("only garbage of dead owners is removed, once it is kept no longer", async () => {
  await using all = await beginKept();
  const { folder, kept, others, owner, packing, record, session } = all;
  const { pod, running } = await openKeptPod();
  await using _running = running;
  await kept.pack(pod, packing);
  const name = { kind: "folder", name: folder, session };
  expect(await others.collectGarbage(ANY_AGE)).toMatchObject({ kept: [{ ...name, why: "its owner lives" }] });
  await owner.release();
  expect(await others.collectGarbage(ANY_AGE)).toMatchObject({
    kept: [{ why: "its session is kept to be resumed" }],
  });
  const sessions = async () => ({ owner: owner.record, usedMs: Date.now() - 7_200_000 });
  const age = JSON.parse(readFileSync(record, "utf8")) as { created: string };
  writeFileSync(record, JSON.stringify({ ...age, created: new Date(0).toISOString() }));

  const policy = { ...ANY_AGE, sessions };
  expect(await others.collectGarbage({ ...policy, dryRun: true })).toMatchObject({ removed: [name] });
  expect(existsSync(folder)).toBe(true);
  expect(await others.collectGarbage(policy)).toMatchObject({ removed: [name] });
  expect([existsSync(folder), existsSync(record)]).toEqual([false, false]);
});

it.each([
  ["no JSON", "{"],
  ["another path", { home: { name: "../../../etc/passwd", bytes: 1, sha256: "" } }],
  ["another volume", { home: { name: `work-${"0".repeat(36)}`, bytes: 1, sha256: "" } }],
  ["a copy without a fill", { home: { name: `home-${"0".repeat(36)}`, bytes: 1, sha256: "" }, work: {} }],
])("a record with %s is none, and reported", async (_what, packed) => {
  await using all = await beginKept();
  const { kept, packing, record, session } = all;
  const { pod, running } = await openKeptPod();
  await using _running = running;
  await kept.pack(pod, packing);
  const before = JSON.parse(readFileSync(record, "utf8")) as object;
  writeFileSync(record, typeof packed === "string" ? packed : JSON.stringify({ ...before, packed }));

  expect(await kept.list()).toEqual([]);
  await expect(kept.take(session, WITHOUT_POD)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  expect(await kept.collectGarbage(ANY_AGE)).toMatchObject({ failed: [{ name: record, session }] });
  await kept.remove(session);
  expect(existsSync(record)).toBe(false);
});

it("a record that cannot be read for now loses no file, and is not taken for a missing one", async () => {
  await using all = await beginKept();
  const { folder, kept, packing, record, session } = all;
  const { pod, running } = await openKeptPod();
  await using _running = running;
  await kept.pack(pod, packing);
  const [before, files] = [readFileSync(record), readdirSync(folder)];
  rmSync(record);
  mkdirSync(record);

  const unusable = { code: "STATE_UNUSABLE", message: expect.stringContaining("(EISDIR)") };
  await expect(kept.pack(pod, packing)).rejects.toMatchObject(unusable);
  await expect(kept.take(session, WITHOUT_POD)).rejects.toMatchObject(unusable);
  expect(await kept.collectGarbage(ANY_AGE)).toMatchObject({ removed: [], failed: [{ name: record, session }] });
  expect(readdirSync(folder)).toEqual(files);
  rmSync(record, { recursive: true });
  writeFileSync(record, before);
  expect(await kept.take(session, WITHOUT_POD)).toEqual({ isPacked: true, fillId: "fill" });
});
