import { afterAll, beforeAll, expect, it } from "vitest";
import { createSessionId, type Runner } from "@budgie/core";
import { buildImage } from "../image/build-image.ts";
import { BASE_IMAGE, createDockerPlace, run } from "../helpers/docker-place.ts";

const MIB = 2 ** 20;
const place = createDockerPlace();
let runner: Runner;

beforeAll(async () => void ({ runner } = await place.createRunner({ limits: { diskBytes: 64 * MIB } })));
afterAll(() => place[Symbol.asyncDispose]());

async function fill(mebibytes: number, then: string) {
  const session = await runner.openSession(createSessionId());
  const script = `head -c ${mebibytes * MIB} /dev/urandom >"$HOME/large"; ${then}`;
  const child = await session.start(
    { argv: ["/bin/sh", "-c", script], env: {}, projections: [] },
    { directory: place.workspace, input: "" },
  );
  for (const stream of [child.stdout, child.stderr]) stream.resume();
  return { child, session };
}

it("ends a turn soon after its home exceeds the limit", async () => {
  // Files that other tests remove in the same second may hide the growth of one file.
  const { child, session } = await fill(
    96,
    'for i in 1 2 3 4 5 6 7 8; do sleep 1; cp "$HOME/large" "$HOME/large$i"; done',
  );

  expect(await child.exit).toMatchObject({ reason: "disk-limit" });
  await session.remove();
});

it("ends a turn whose unlinked open files exceed the limit", async () => {
  const { child, session } = await fill(
    1,
    'exec 9>"$HOME/gone"; rm "$HOME/gone"; head -c 128M /dev/zero >&9; sleep 100',
  );

  expect(await child.exit).toMatchObject({ reason: "disk-limit" });
  await session.remove();
});

it("reports the growth of a home, and keeps a turn below the limit running", async () => {
  const { child, session } = await fill(8, "exit 0");
  const { exitCode, reason } = await child.exit;
  const { grownBytes = 0, homeBytes = 0 } = (await child.disk?.()) ?? {};

  expect([exitCode, reason]).toEqual([0, undefined]);
  expect(homeBytes).toBeGreaterThanOrEqual(8 * MIB);
  expect(homeBytes).toBeLessThan(10 * MIB);
  // The login was in the home before.
  expect(homeBytes - grownBytes).toBeLessThan(2 * MIB);
  await session.remove();
});

it("gives an image's volumes memory instead of the engine's disk", async () => {
  await using image = await buildImage(`FROM ${BASE_IMAGE}\nVOLUME /data/ /srv/cache /workspace /tmp`);
  const own = await place.createRunner({ image: image.name });
  const session = await own.runner.openSession(createSessionId());

  const script = "for path in /data /srv/cache; do echo x >$path/file; stat -f -c '%T' $path; done";
  const { stderr, stdout } = await run(session, place.workspace, script);

  expect([stdout, stderr]).toEqual(["tmpfs\ntmpfs\n", ""]);
  await session.remove();
});
