import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { Command } from "@budgie/core";
import { createHomeSeeds } from "@budgie/sandbox/home";
import { createKiroLogin, DATABASE, type Login } from "@budgie/sandbox/login";
import { createHostHome, type HostHome } from "@budgie/testkit";
import { beginHome, type BegunHome } from "../helpers/begin-home.ts";

let scratchDir: string;
beforeEach(() => void (scratchDir = mkdtempSync(join(tmpdir(), "budgie-scratch-"))));
afterEach(() => {
  // Copies of the login exist for milliseconds.
  expect(readdirSync(scratchDir)).toEqual([]);
  rmSync(scratchDir, { recursive: true });
});

const DATA = ".local/share/kiro-cli";
const never = new AbortController().signal;

/** Opens the login of a session, and prepares its turns as a runner does. */
function open({ home, roots }: BegunHome, host: HostHome, exists = false) {
  const login: Login = createKiroLogin({ dataDir: host.dataDir });
  const sync = login.open({ archive: home, scratchDir, exists });
  const seeds = createHomeSeeds();
  return {
    sync,
    prepare: (command: Pick<Command, "home"> = {}) =>
      seeds.fill({ projections: [], ...command }, (entries) => sync.prepare("required", never, entries)),
    clearSeeds: () => home.write(seeds.toCleared()),
    database: join(roots.home, DATA, DATABASE),
    readable: join(roots.auth, DATABASE),
  };
}

/** Has the agent say something, which its Kiro keeps in its database. */
async function say(database: string, what: string): Promise<void> {
  await using agent = await createHostHome();
  copyFileSync(database, agent.database);
  agent.changeDatabase(`INSERT INTO conversations (key, value) VALUES ('/workspace', '${what}')`);
  copyFileSync(agent.database, database);
}

const ROTATE = "UPDATE auth_kv SET value = 'the next token'";

it("the login is written before the first turn, stays as the agent renewed it, and follows the host's", async () => {
  await using host = await createHostHome();
  await using place = await beginHome();
  const { database, prepare, readable } = open(place, host);
  await prepare();
  expect(readFileSync(database).includes(host.canaries.login)).toBe(true);
  expect([database, readable].map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o400]);
  await place.runTurn(() => say(database, "what was said"));
  const before = readFileSync(database);

  await prepare();
  expect(readFileSync(database).equals(before)).toBe(true);
  await place.runTurn(() => writeFileSync(`${database}-wal`, "an old log"));
  host.changeDatabase(ROTATE);
  await prepare();

  for (const path of [database, readable]) expect(readFileSync(path).includes("the next token")).toBe(true);
  expect(readFileSync(database).includes("what was said")).toBe(true);
  expect(readFileSync(database).includes(host.canaries.login)).toBe(false);
  expect(readFileSync(`${database}-wal`)).toHaveLength(0);
});

it("clear takes the login away, and leaves the conversation for another Pod, which gets it again", async () => {
  await using host = await createHostHome();
  await using place = await beginHome();
  const token = join(host.home, "token");
  writeFileSync(token, "a token");
  const { clearSeeds, database, prepare, readable, sync } = open(place, host);
  await prepare({ home: [{ path: ".codex/auth.json", content: { file: token } }] });
  await place.runTurn(() => say(database, "what was said"));

  await clearSeeds();
  await sync.clear(never);
  expect(readFileSync(database).includes(host.canaries.login)).toBe(false);
  expect(readFileSync(readable)).toHaveLength(0);
  expect(readFileSync(join(place.roots.home, ".codex/auth.json"), "utf8")).toBe("");
  const { bytes } = await place.ask({ purpose: "file", act: "pack", volume: "home" });
  expect(bytes.includes(host.canaries.login)).toBe(false);

  await using other = await beginHome();
  await other.ask({ purpose: "file", act: "fill", volume: "home" }, bytes);
  const resumed = open(other, host, true);
  await resumed.prepare();
  expect(readFileSync(resumed.database).includes("what was said")).toBe(true);
  for (const path of [resumed.database, resumed.readable])
    expect(readFileSync(path).includes(host.canaries.login)).toBe(true);
});

it("a link that the agent left never leads to a login", async () => {
  await using host = await createHostHome();
  await using place = await beginHome();
  const { database, prepare, sync } = open(place, host);
  const outside = join(place.roots.work, "outside");
  mkdirSync(outside);
  await prepare();

  await place.runTurn(() => {
    rmSync(database);
    symlinkSync(join(outside, "data"), database);
  });
  host.changeDatabase(ROTATE);
  await prepare();
  expect(existsSync(join(outside, "data"))).toBe(false);
  expect(readFileSync(database).includes("the next token")).toBe(true);

  await place.runTurn(() => {
    rmSync(join(place.roots.home, DATA), { recursive: true });
    symlinkSync(outside, join(place.roots.home, DATA));
  });
  host.changeDatabase(ROTATE.replace("next", "last"));
  await expect(prepare()).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
  await expect(sync.clear(never)).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
  expect(readdirSync(outside)).toEqual([]);
});
