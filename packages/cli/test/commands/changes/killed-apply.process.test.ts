import { chmodSync, cpSync, mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { createChangeSets } from "@budgie/copies/sets";
import { listTree, readTree, SESSION, writeFiles } from "../../../../copies/test/helpers/create-world.ts";
import { createBudgieUser, type BudgieUser } from "../../helpers/start-budgie.ts";

// More than are written to the disk one by one.
const [CHANGED, REMOVED, NEW] = [100, 20, 30];
const WRITTEN = CHANGED + NEW;

/** Moments at which budgie is killed: before the n-th of its calls of this name that names a path or content as bytes. */
const MOMENTS = [
  ["half of the new files are staged", "writeFileSync", WRITTEN / 2],
  ["half of the removed files are moved aside", "renameSync", REMOVED / 2],
  ["all old files are there but one, and no new one", "linkSync", 1],
  ["half of the new files are in place", "linkSync", WRITTEN / 2],
  ["all new files are in place but one", "linkSync", WRITTEN],
] as const;

const KILLER = `
  import fs from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  const [name, number] = process.env.KILL_AT.split(" ");
  const call = fs[name];
  let count = 0;
  fs[name] = (...given) => {
    if (given.some(Buffer.isBuffer) && ++count === Number(number)) process.kill(process.pid, "SIGKILL");
    return call(...given);
  };
  syncBuiltinESMExports();
`;

/** Creates a directory with a set of an agent's changes of all kinds that waits for it. */
async function prepare({ host }: BudgieUser) {
  const home = realpathSync(host.home);
  const [directory, copy] = [join(home, "shop"), join(home, "copy")];
  mkdirSync(directory);
  const name = (kind: string, number: number): string => `${kind}-${number % 3}/${number}.txt`;
  const toFiles = (kind: string, count: number, text: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, number) => [name(kind, number), `${text} ${number}\n`]));
  writeFiles(directory, { ...toFiles("changed", CHANGED, "old"), ...toFiles("gone", REMOVED, "old") });
  chmodSync(join(directory, name("changed", 1)), 0o600);
  chmodSync(join(directory, name("gone", 1)), 0o640);
  cpSync(directory, copy, { recursive: true });
  const before = listTree(directory);
  writeFiles(copy, { ...toFiles("changed", CHANGED, "new"), ...toFiles("new", NEW, "new") });
  chmodSync(join(copy, name("changed", 2)), 0o755);
  for (const number of [0, 1, 2]) rmSync(join(copy, `gone-${number}`), { recursive: true });
  const sets = createChangeSets({ stateDir: join(host.home, ".local/state/budgie") });
  const asked = {
    base: { entries: before },
    read: () => readTree(copy),
    sessionId: SESSION,
    agent: "worker",
    directory,
  };
  const id = (await sets.collect(asked))?.id ?? "";
  sets.close();
  return { directory, id, before, after: listTree(copy) };
}

/** Applies a set with a budgie that is killed with SIGKILL at a moment. */
async function applyUntil(user: BudgieUser, id: string, moment: string): Promise<void> {
  const killer = join(user.host.home, "killer.mjs");
  writeFileSync(killer, KILLER);
  const env = { NODE_OPTIONS: `--import=${pathToFileURL(killer).href}`, KILL_AT: moment };
  const [, signal] = await once(user.launch(["changes", "apply", id], env), "exit");
  expect(signal, moment).toBe("SIGKILL");
}

it.each(MOMENTS)(
  "an apply that is killed with SIGKILL when %s is taken back whole by the next command",
  async (_, call, number) => {
    await using user = await createBudgieUser();
    const { after, before, directory, id } = await prepare(user);
    await applyUntil(user, id, `${call} ${number}`);
    // Without the next command it is neither as it was nor as it was to be.
    expect([before, after]).not.toContainEqual(listTree(directory));

    const { stderr, stdout } = await user.command(["changes", "ls"]);

    expect([stderr, stdout]).toEqual([expect.stringContaining("is taken back"), expect.stringContaining("pending")]);
    expect(listTree(directory)).toEqual(before);
  },
);

it("an apply that is killed with SIGKILL once it is recorded is finished by the next command", async () => {
  await using user = await createBudgieUser();
  const { after, directory, id } = await prepare(user);
  await applyUntil(user, id, `unlinkSync ${WRITTEN}`);
  expect(listTree(directory)).not.toEqual(after);

  const { stderr, stdout } = await user.command(["changes", "ls", "--all"]);

  expect([stderr, stdout]).toEqual(["", expect.stringContaining("applied")]);
  expect(listTree(directory)).toEqual(after);
});
