import { expect, it } from "vitest";
import { connectEngine } from "../../src/engine/engine.ts";
import { createImageCache } from "../../src/image/image-cache.ts";
import { createFakeEngine } from "../helpers/fake-engine.ts";

const FOUND = { Id: "sha256:abc", Created: "2026-01-02T03:04:05Z" };

it("finds an image once, and looks again for one that was missing", async () => {
  const late = [
    { status: 404, body: { message: "No such image" } },
    { status: 200, body: FOUND },
  ];
  await using fake = await createFakeEngine({
    "GET /version": { ApiVersion: "1.41" },
    "GET /info": {},
    "GET /images/there/json": FOUND,
    "GET /images/late/json": late,
  });
  const find = createImageCache(await connectEngine(fake.hostEnv, "/nowhere"));

  const [first, second] = [await find("there"), await find("there")];
  const missing = find("late");

  await expect(missing).rejects.toMatchObject({ code: "IMAGE_NOT_FOUND", message: expect.stringContaining('"late"') });
  expect([first.id, second.id, (await find("late")).id]).toEqual(Array.from({ length: 3 }, () => "sha256:abc"));
  expect(fake.requests.filter((request) => request.includes("/images/"))).toEqual([
    "GET /images/there/json",
    "GET /images/late/json",
    "GET /images/late/json",
  ]);
});
