import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBudgieUser, type BudgieUser } from "../helpers/start-budgie.ts";

const ENV = { DOCKER_HOST: "unix:///nowhere/docker.sock" };

type Row = readonly [typed: string, said: string, exitCode: number];

// CONFIG is a configuration file, BROKEN a state directory with a broken run log; HOME, AGENTS and FILE are paths of the user's.
const ROWS: readonly Row[] = [
  ["dotcor", 'There is no command "dotcor". Did you mean "doctor"? See "budgie --help".', 2],
  ["emacs", 'There is no command "emacs". See "budgie --help".', 2],
  ["help runs lss", 'There is no command "lss". Did you mean "ls"? See "budgie runs --help".', 2],
  ["runs lst", `Unknown command 'lst'. Did you mean ls? See "budgie runs --help".`, 2],
  ["runs show", `Missing required argument 'id'. See "budgie runs show --help".`, 2],
  ["runs ls --last many", 'Expected --last to be a number of turns, such as 20, got "many".', 2],
  ["runs show abc", 'There is no run "abc" in the log. "budgie runs ls" lists all that are there.', 1],
  ["runs ls --sesion x", `Unknown option '--sesion'. Did you mean --session? See "budgie runs ls --help".`, 2],
  ["--sandbx", `Unknown option '--sandbx'. Did you mean --sandbox? See "budgie serve --help".`, 2],
  ["serve now", 'The server takes no "now". See "budgie serve --help".', 2],
  [
    "--agent-timeout 15",
    'Expected --agent-timeout (or BUDGIE_AGENT_TIMEOUT) to be a duration such as "90s", "10m" or "1h30m", got "15".',
    2,
  ],
  ["list-tools --max-queued few", 'Expected --max-queued (or BUDGIE_MAX_QUEUED) to be a whole number, got "few".', 2],
  [
    "--agents-dir /nope list-tools",
    'There is no directory "/nope" for --agents-dir (or BUDGIE_AGENTS_DIR). Create it, or leave the option out.',
    2,
  ],
  [
    "list-tools --config /nope.json",
    'Cannot read the configuration file "/nope.json": ENOENT. Correct it, or name another with --config.',
    2,
  ],
  [
    "list-tools --config CONFIG",
    'The file "CONFIG" has a key that is unknown in its content: "agentTimout". Did you mean "agentTimeout"? Remove it, or correct its name.',
    2,
  ],
  ["install clade", 'There is no client "clade". Did you mean "claude"? Clients: kiro, claude, ', 2],
  ["install", `Missing required argument 'client'. See "budgie install --help".`, 2],
  ["install kiro --sandbox", 'Options of the server, such as --sandbox, go behind "--".', 2],
  ["install kiro -- serve", 'The server takes no "serve". See "budgie serve --help".', 2],
  [
    "egress explain raeder",
    'There is no agent "raeder" in "AGENTS". Did you mean "reader"? "budgie list-tools" lists the agents.',
    1,
  ],
  ["egress explain", `Missing required argument 'agent'. See "budgie egress explain --help".`, 2],
  ["gc --older-than soon", 'Expected --older-than to be a duration such as "90s", "10m" or "1h30m", got "soon".', 2],
  ["build-image --tag", `Option '--tag <image>' argument missing. See "budgie build-image --help".`, 2],
  [
    "build-image --context /nope",
    'There is no Dockerfile.sandbox or Dockerfile in "/nope". Name the folder that has one with --context.',
    2,
  ],
  ["completion tcsh", `Command-argument value 'tcsh' is invalid for argument 'shell'.`, 2],
  [
    "--sandbox --allow-root HOME",
    "Cannot reach a container engine at unix:///nowhere/docker.sock (from DOCKER_HOST)",
    3,
  ],
  ["runs ls --state-dir BROKEN", 'Cannot use the run log "BROKEN/runs.sqlite3" (file is not a database). Make it', 1],
  ["doctor all", `Too many arguments for 'doctor'. Expected 0 arguments but got 1. See "budgie doctor --help".`, 2],
];

describe("a wrong input", () => {
  let user: BudgieUser;
  beforeAll(async () => {
    user = await createBudgieUser();
    mkdirSync(join(user.host.home, "broken"));
    writeFileSync(join(user.host.home, "broken", "runs.sqlite3"), "This is no database. ".repeat(500));
    writeFileSync(join(user.host.home, "budgie.json"), JSON.stringify({ agentTimout: "1m" }));
  });
  afterAll(async () => user[Symbol.asyncDispose]());

  it.each(ROWS)("budgie %s is answered with %s and exit code %i", async (typed, said, exitCode) => {
    const fill = (text: string): string =>
      text
        .replaceAll("CONFIG", join(user.host.home, "budgie.json"))
        .replaceAll("BROKEN", join(user.host.home, "broken"))
        .replaceAll("AGENTS", user.host.agentsDir)
        .replaceAll("HOME", user.host.home);
    const finished = await user.command(typed.split(" ").map(fill), ENV);

    expect(finished).toMatchObject({ exitCode, stdout: "" });
    expect(finished.stderr).toContain(`budgie: ${said.replace(/(?:CONFIG|AGENTS|BROKEN)(?=["/])/, fill)}`);
    expect(finished.stderr.trimEnd()).not.toContain("\n");
  });
});
