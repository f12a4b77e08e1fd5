// Compares follow-up turns on a workspace of one file with those on one of 200,000.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SANDBOX, withPlace } from "./lib/bench-place.mjs";
import { interleave } from "./lib/interleave.mjs";
import { toRows } from "./lib/table.mjs";

const FOLDERS = 2_000;
const FILES = 100;
const BASE = "follow-up turn, empty workspace";

export const measureWorkspace = (rounds) =>
  withPlace(async (place) => {
    const large = await mkdtemp(join(place.directory, "large-"));
    place.atEnd(() => rm(large, { recursive: true, force: true }));
    await fill(large);
    const small = join(place.directory, "small");
    await mkdir(small);
    const server = await place.startServer(SANDBOX);
    const cases = {};
    for (const [title, directory] of [
      [BASE, small],
      ["follow-up turn, 200,000 files", large],
    ]) {
      const session = await server.newSession({ directory });
      cases[title] = () => server.followUp(session, { directory });
    }
    return { rows: toRows(await interleave(cases, rounds), () => BASE), over: [] };
  });

async function fill(folder) {
  for (let number = 0; number < FOLDERS; number++) {
    const inner = join(folder, `folder-${number % 40}`, `part-${number}`);
    await mkdir(inner, { recursive: true });
    await Promise.all(Array.from({ length: FILES }, (_, file) => writeFile(join(inner, `file-${file}.txt`), "text\n")));
  }
}
