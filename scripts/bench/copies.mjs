// Compares turns on copies of a directory with turns on the directory itself, and applies with "git apply". BUDGIE_BENCH_SMALL=1 tries the
// case with small directories.
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { AGENT, PROMPT, READING_MS, SANDBOX, withPlace } from "./lib/bench-place.mjs";
import { interleave } from "./lib/interleave.mjs";
import { findOver, toRows } from "./lib/table.mjs";
import { dockerRun } from "./sides/docker-run.mjs";

const execute = promisify(execFile);
const IS_SMALL = process.env.BUDGIE_BENCH_SMALL === "1";
const AT_ONCE = 8;
const [LARGE_FILES, LARGE_BYTES] = IS_SMALL ? [400, 50_000] : [20_000, 50_000];
const [MANY_FILES, MANY_BYTES] = IS_SMALL ? [400, 1000] : [20_000, 1000];
const APPLIED_FILES = IS_SMALL ? 50 : 1000;

const TITLES = {
  rw: "first turn, rw",
  copy: "first turn, a copy of 10 MB in 500 files",
  again: "first turn of a second session on the same directory, copy",
  cp: "cp -a of 1 GB in 20,000 files, and a turn",
  large: "first turn, a copy of 1 GB in 20,000 files",
  work: "follow-up turn that changes 20 of 20,000 files, rw",
  changes: "the same on a copy, with its changes collected and shown",
  docker: "docker run --rm, 8 at once",
  parallel: "invoke_parallel, 8 new sessions on one base",
  git: "git apply of 1,000 files",
  apply: "apply_changes of the same",
};

/** Each case with the case that it is compared with, and the most times of that which it may take */
const LIMITS = {
  copy: ["rw", 1.5],
  again: ["rw", 1.3],
  large: ["cp", 2.5],
  // Half a turn beside the turn itself
  changes: ["work", 1.5],
  parallel: ["docker", 0.8],
  apply: ["git", 3],
};
const BASES = new Map(Object.entries(LIMITS).flatMap(([name, [base]]) => [name, base].map((one) => [one, base])));

export const measureCopies = (rounds) =>
  withPlace(async (place) => {
    const flags = [...SANDBOX, "--max-concurrent", `${AT_ONCE}`];
    const [direct, server] = await Promise.all([
      place.startServer(flags),
      place.startServer([...flags, "--workspace", "copy"]),
    ]);
    const setting = { direct, server, place };
    // Dozens of sessions and gigabytes of files slow down what comes after them.
    const changed = await measureChanges(setting, rounds);
    const applied = await measureApply(setting, rounds);
    const some = await measureSmall(setting, rounds);
    const large = await measureLarge(setting);
    const times = new Map([...some, ...large, ...changed, ...applied]);
    const nameOf = new Map(Object.entries(TITLES).map(([name, title]) => [title, name]));
    const rows = toRows(times, (title) => TITLES[BASES.get(nameOf.get(title))]);
    const limits = Object.entries(LIMITS).map(([name, [, limit]]) => [TITLES[name], limit]);
    return { rows, over: findOver(rows, Object.fromEntries(limits)) };
  });

async function measureSmall({ direct, place, server }, rounds) {
  const live = await fill(place, 500, 20_000);
  const known = await fill(place, 500, 20_000);
  const moving = await createMoving(place, 500, 20_000);
  await server.newSession({ directory: known });
  const agents = Array.from({ length: AT_ONCE }, () => ({ agent: AGENT, prompt: PROMPT }));
  const cases = {
    rw: () => direct.newSession({ directory: live }),
    copy: () => server.newSession({ directory: moving.path() }),
    again: () => server.newSession({ directory: known }),
    docker: () => Promise.all(Array.from({ length: AT_ONCE }, () => dockerRun(place))),
    parallel: () => server.call("invoke_parallel", { directory: known, agents }),
  };
  const timed = Object.entries(cases).map(([name, run]) => [TITLES[name], timedRun(run, moving)]);
  return interleave(Object.fromEntries(timed), rounds, 1);
}

/** Measures what takes too long for many rounds. */
async function measureLarge({ direct, place, server }) {
  const moving = await createMoving(place, LARGE_FILES, LARGE_BYTES);
  const live = await fill(place, 1, 1);
  const target = join(place.directory, "cp");
  const cases = {
    cp: async () => {
      await execute("cp", ["-a", moving.path(), target]);
      await direct.newSession({ directory: live });
    },
    large: () => server.newSession({ directory: moving.path() }),
  };
  const timed = Object.entries(cases).map(([name, run]) => [TITLES[name], timedRun(run, moving)]);
  const times = new Map(timed.map(([title]) => [title, []]));
  for (let round = 0; round < 2; round++) {
    for (const [title, run] of timed) times.get(title).push(...(await run()));
    await rm(target, { recursive: true });
  }
  return times;
}

async function measureChanges({ direct, place, server }, rounds) {
  const [live, copied] = [await fill(place, MANY_FILES, MANY_BYTES), await fill(place, MANY_FILES, MANY_BYTES)];
  // The disk still writes what other cases left.
  await execute("sync");
  let round = 0;
  const work = () => `[[run: for n in $(seq 20); do echo ${round++} >folder-0/file-$n.txt; done]]`;
  const begin = async (budgie, directory) => {
    const { sessionId } = await budgie.ask("shell-worker", { directory, prompt: "[[run: true]]" });
    return () => budgie.ask("shell-worker", { directory, sessionId, prompt: work() });
  };
  const [turn, copyTurn] = [await begin(direct, live), await begin(server, copied)];
  const cases = {
    [TITLES.work]: turn,
    [TITLES.changes]: async () => {
      const { copy } = await copyTurn();
      await server.call("kiro-subagents.changes", { changeId: copy.changes.changeId });
    },
  };
  const timed = Object.entries(cases).map(([title, run]) => [title, timedRun(run)]);
  return interleave(Object.fromEntries(timed), rounds, 1);
}

async function measureApply({ place, server }, rounds) {
  const directory = await fill(place, APPLIED_FILES, 1000);
  const git = (...args) => execute("git", ["-C", directory, ...args], { maxBuffer: 1024 ** 3 });
  const identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"];
  await git("init", "--quiet");
  await git("add", "--all");
  await git(...identity, "commit", "--quiet", "--message", "all");
  const patch = join(place.directory, "applied.patch");
  // A caller reads what it applies. The files that somebody works on lie on the disk, which takes longer to remove them than those that never came there.
  const rest = async () => {
    await sleep(IS_SMALL ? 0 : READING_MS);
    await execute("sync", ["--file-system", directory]);
  };
  const prompt = "[[run: for f in folder-*/*.txt; do echo changed >>$f; done]]";
  const cases = {
    [TITLES.apply]: async () => {
      const { copy } = await server.ask("shell-worker", { directory, prompt });
      const { changeId } = copy.changes;
      const { pages } = await server.call("kiro-subagents.changes", { changeId });
      const { reviewToken } = await server.call("kiro-subagents.changes", { changeId, page: pages });
      await rest();
      const took = await time(() => server.call("kiro-subagents.apply_changes", { changeId, reviewToken }));
      await writeFile(patch, (await git("diff", "--binary")).stdout);
      await git("checkout", "--quiet", ".");
      return [took];
    },
    [TITLES.git]: async () => {
      await rest();
      const took = await time(() => git("apply", patch));
      await git("checkout", "--quiet", ".");
      return [took];
    },
  };
  // The first apply makes the patch.
  await cases[TITLES.apply]();
  return interleave(cases, rounds, 1);
}

/** Returns a function that runs a case under the clock. Before it, a caller reads the last answer, and a moving directory, if there is one, is new. */
function timedRun(run, moving) {
  return async () => {
    await moving?.move();
    await sleep(IS_SMALL ? 0 : READING_MS);
    return [await time(run)];
  };
}

async function time(run) {
  const began = performance.now();
  await run();
  return performance.now() - began;
}

/** Creates a directory that gets another name before each use, so that nothing is known of it. */
async function createMoving(place, files, bytes) {
  let path = await fill(place, files, bytes);
  let count = 0;
  return {
    path: () => path,
    async move() {
      const next = `${path.replace(/-moved\d+$/, "")}-moved${count++}`;
      await rename(path, next);
      path = next;
    },
  };
}

/** Creates a directory of files that have no content in common, 100 in each folder. */
async function fill({ directory }, files, bytes) {
  const root = await mkdtemp(join(directory, "tree-"));
  for (let from = 0; from < files; from += 100) {
    const folder = join(root, `folder-${from / 100}`);
    await mkdir(folder);
    const numbers = Array.from({ length: Math.min(100, files - from) }, (_, number) => number + 1);
    await Promise.all(numbers.map((number) => writeFile(join(folder, `file-${number}.txt`), toContent(bytes))));
  }
  return root;
}

/** Returns lines of text. */
function toContent(bytes) {
  const line = randomBytes(30).toString("hex");
  return `${line}\n`.repeat(Math.ceil(bytes / 61));
}
