import { expect, it } from "vitest";
import { createOverlay, isOverlayOn, readFolder } from "../../src/bases/overlay-volume.ts";
import { createFakeEngine } from "../helpers/fake-engine.ts";

const PLAIN = { Driver: "local", Options: null };

it.each([
  [{ ...PLAIN, Mountpoint: "/var/lib/docker/volumes/a-1/_data" }, "/var/lib/docker/volumes/a-1/_data"],
  [{ ...PLAIN, Mountpoint: "/a,upperdir=/etc" }, undefined],
  [{ ...PLAIN, Mountpoint: "/a:/etc" }, undefined],
  [{ ...PLAIN, Mountpoint: "" }, undefined],
  [{ Driver: "nfs", Options: null, Mountpoint: "/a" }, undefined],
  [{ Driver: "local", Options: { type: "none", device: "/etc", o: "bind" }, Mountpoint: "/a" }, undefined],
])("The folder of the volume %j is %j", (volume, folder) => {
  expect(readFolder(volume as unknown as Parameters<typeof readFolder>[0])).toBe(folder);
});

it("An overlay counts as one on its own base alone", () => {
  const overlay = (o: string) =>
    ({ Driver: "local", Options: { type: "overlay", device: "overlay", o } }) as Parameters<typeof isOverlayOn>[1];

  expect(isOverlayOn("/a", overlay("lowerdir=/a,upperdir=/u,workdir=/w"))).toBe(true);
  expect(isOverlayOn("/a", overlay("lowerdir=/a:/etc,upperdir=/u,workdir=/w"))).toBe(false);
  expect(isOverlayOn("/a", overlay("lowerdir=/b,upperdir=/a,workdir=/w"))).toBe(false);
});

it("No overlay is made on layers whose folders a mount's options could not name", async () => {
  await using engine = await createFakeEngine({ "POST /volumes/create": { ...PLAIN, Mountpoint: "/a,b" } });

  await expect(createOverlay(engine.docker, { base: "/base", volume: { name: "copy", labels: {} } })).rejects.toThrow();

  expect(engine.requests.filter((request) => request.startsWith("POST"))).toHaveLength(2);
});

it("An overlay is made by three requests, on the folders that the engine names when it makes the layers", async () => {
  await using engine = await createFakeEngine({ "POST /volumes/create": { ...PLAIN, Mountpoint: "/volumes/a" } });

  const folders = await createOverlay(engine.docker, { base: "/base", volume: { name: "copy", labels: {} } });

  expect(folders).toEqual({ base: "/base", upper: "/volumes/a" });
  expect(engine.requests).toEqual(Array.from({ length: 3 }, () => "POST /volumes/create"));
});
