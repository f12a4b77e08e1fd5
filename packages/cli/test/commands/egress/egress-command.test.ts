import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createOwner, type EgressReport } from "@budgie/core";
import type { FinishedRun } from "@budgie/core/runs";
import { createRunLog } from "@budgie/store";
import { createBudgieUser, type BudgieUser } from "../../helpers/start-budgie.ts";

const missing = "not on the allow-list";

/** Writes turns to the user's log. */
async function remember({ host }: BudgieUser, turns: readonly (readonly [string, EgressReport | undefined])[]) {
  const stateDir = join(host.home, ".local/state/budgie");
  const log = createRunLog({ stateDir, owner: createOwner({ stateDir }), report: () => undefined });
  for (const [agent, egress] of turns) await log.finish({ ...RUN, id: randomUUID(), agent, egress });
  log.close();
}

const RUN: Omit<FinishedRun, "agent" | "egress" | "id"> = {
  sessionId: undefined,
  isolation: "container",
  startedMs: Date.now(),
  endedMs: Date.now(),
  outcome: "answered",
  exit: undefined,
  promptBytes: 1,
  answer: "x",
  usage: undefined,
  timedOut: false,
  retried: false,
  error: undefined,
};

describe("budgie egress explain", () => {
  it("prints which hosts an agent reaches and where each was configured, with --sandbox and without", async () => {
    await using user = await createBudgieUser();
    const file = join(user.host.home, "budgie.json");
    const sections = { reader: { allowHost: ["git.corp.test:8443"] }, "shell-worker": { egress: "none" } };
    writeFileSync(file, JSON.stringify({ agents: sections }));
    const argv = ["--config", file, "--allow-host", "*.corp.test:8443,db.test=10.0.0.5", "--allow-preset", "github"];

    const reviewer = await user.command([...argv, "egress", "explain", "code-reviewer"]);
    const reader = await user.command(["--sandbox", ...argv, "egress", "explain", "reader", "--json"]);
    const worker = await user.command([...argv, "egress", "explain", "shell-worker"]);

    expect(reviewer).toMatchObject({ exitCode: 0, stderr: "" });
    const [head, ...lines] = reviewer.stdout.trimEnd().split("\n");
    expect(head).toBe("code-reviewer: allowlist, these hosts, by the proxy, and nothing else");
    expect(lines.map((line) => line.trim().replace(/ +/g, " "))).toEqual(
      expect.arrayContaining([
        "*.corp.test:8443 --allow-host",
        "db.test:443 at 10.0.0.5 --allow-host",
        "github.com:443 preset github, --allow-preset",
        "release-assets.githubusercontent.com:443 preset github, --allow-preset (unverified)",
        "*.kiro.dev:443 preset kiro, which Kiro needs (unverified)",
      ]),
    );
    const { hosts, mode } = JSON.parse(reader.stdout) as { mode: string; hosts: readonly { host: string }[] };
    expect({ mode, first: hosts[0] }).toEqual({
      mode: "allowlist",
      first: {
        host: "git.corp.test",
        port: 8443,
        from: `"agents.reader.allowHost" in "${file}"`,
        unverified: false,
      },
    });
    expect(hosts.map(({ host }) => host)).not.toContain("github.com");
    expect(worker.stdout).toBe("shell-worker: none, no network at all, its own model included\n");
  });

  it("takes an agent by its tool's name", async () => {
    await using user = await createBudgieUser();

    const { stdout } = await user.command(["egress", "explain", "kiro_subagents_reader"]);

    expect(stdout).toMatch(/^reader: allowlist, /);
  });

  it("prints the pinned hosts of an open network", async () => {
    await using user = await createBudgieUser();
    const argv = ["--egress", "open", "--allow-host", "a.test", "--allow-host", "db.test=10.0.0.5"];

    const { stdout } = await user.command([...argv, "egress", "explain", "reader"]);

    expect(stdout.split("\n").slice(1)).toEqual(["  db.test:443 at 10.0.0.5  --allow-host", ""]);
  });

  it.each([
    [["egress", "explain"], "Missing required argument 'agent'."],
    [["egress", "expalin"], `Unknown command 'expalin'. Did you mean explain? See "budgie egress --help".`],
    [["egress", "suggest", "reader"], "Too many arguments for 'suggest'."],
    [["sessions", "ls", "reader"], "Too many arguments for 'ls'."],
    [["egress", "suggest", "--last", "0"], 'Expected --last to be a number of turns, such as 20, got "0".'],
    [["egress", "suggest", "--last", "few"], 'Expected --last to be a number of turns, such as 20, got "few".'],
  ])("and egress suggest refuse %j in one line", async (argv, message) => {
    await using user = await createBudgieUser();

    const { exitCode, stderr, stdout } = await user.command(argv);

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain(`budgie: ${message}`);
    expect(stderr.trimEnd()).not.toContain("\n");
  });
});

describe("budgie egress suggest", () => {
  it("prints the refused hosts of turns as options, and separately those that no option allows", async () => {
    await using user = await createBudgieUser();
    await remember(user, [
      ["reader", undefined],
      [
        "reader",
        {
          allowed: [{ host: "prod.kiro.dev", port: 443, count: 7 }],
          denied: [
            { host: "pypi.org", port: 443, count: 2, why: missing },
            { host: "deb.debian.org", port: 80, count: 1, why: `port ${missing}` },
            { host: "10.0.0.1", port: 443, count: 1, why: "it is an address, and only names can be allowed" },
          ],
        },
      ],
      [
        "code-reviewer",
        {
          allowed: [{ host: "db.test", port: 5432, count: 1 }],
          denied: [
            { host: "pypi.org", port: 443, count: 3, why: missing },
            { host: "10.0.0.1", port: 443, count: 1, why: "it is an address, and only names can be allowed" },
            { host: "intranet.test", port: 443, count: 1, why: "it leads to a private address" },
          ],
        },
      ],
    ]);

    const { exitCode, stderr, stdout } = await user.command([
      "--allow-host",
      "db.test:5432=10.0.0.5",
      "egress",
      "suggest",
    ]);

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toBe(
      `The last 3 turns would have needed:
  --allow-host prod.kiro.dev          # reached 7 times by reader; allowed already: preset kiro, which Kiro needs
  --allow-host pypi.org               # refused 5 times by code-reviewer, reader; new, in --allow-preset pypi
  --allow-host db.test:5432=10.0.0.5  # reached once by code-reviewer; allowed already: --allow-host
  --allow-host deb.debian.org:80      # refused once by reader; new, in --allow-preset debian
Never allowed by name:
  10.0.0.1:443, twice: it is an address, and only names can be allowed
  intranet.test:443, once: it leads to a private address
`.replace("twice", "2 times"),
    );
  });

  it("considers this many turns, and those of one agent", async () => {
    await using user = await createBudgieUser();
    const turn = (agent: string, host: string): [string, EgressReport] => [
      agent,
      { allowed: [], denied: [{ host, port: 443, count: 1, why: missing }] },
    ];
    await remember(user, [turn("reader", "a.test"), turn("code-reviewer", "b.test"), turn("reader", "c.test")]);
    const hostsOf = async (argv: readonly string[]): Promise<unknown> => {
      const { stdout } = await user.command(["egress", "suggest", "--json", ...argv]);
      const { needed, runs } = JSON.parse(stdout) as { runs: number; needed: readonly { host: string }[] };
      return [runs, ...needed.map(({ host }) => host)];
    };

    expect(await hostsOf([])).toEqual([3, "c.test", "b.test", "a.test"]);
    expect(await hostsOf(["--last", "2"])).toEqual([2, "c.test", "b.test"]);
    expect(await hostsOf(["--agent", "reader"])).toEqual([2, "c.test", "a.test"]);
    expect(await hostsOf(["--agent", "reader", "--last", "1"])).toEqual([1, "c.test"]);
  });

  it("never prints text of an agent that a shell would execute", async () => {
    await using user = await createBudgieUser();
    const hosts = [
      "$(touch pwned).test",
      "a.test;id",
      "`id`",
      "a b",
      "*.test",
      "-x.test",
      "\u001b[2Jx",
      "(others)",
      "2130706433",
    ];
    const denied = hosts.map((host) => ({ host, port: 443, count: 1, why: missing }));
    await remember(user, [["reader", { allowed: [{ host: "$(id)", port: 443, count: 1 }], denied }]]);

    const { stdout } = await user.command(["egress", "suggest"]);

    expect(stdout).not.toContain("--allow-host");
    expect(stdout).not.toContain("\u001b");
    expect(stdout).toContain("The last turn asked for no host.\nNever allowed by name:\n");
  });

  it("says so if there is no turn, or no monitored one", async () => {
    await using user = await createBudgieUser();

    const none = await user.command(["egress", "suggest"]);
    await remember(user, [["reader", undefined]]);
    const other = await user.command(["egress", "suggest", "--agent", "code-reviewer"]);
    const unwatched = await user.command(["egress", "suggest"]);

    expect(none.stdout).toBe("There is no turn in the run log yet.\n");
    expect(other.stdout).toBe('There is no turn of the agent "code-reviewer" in the run log yet.\n');
    expect(unwatched.stdout).toMatch(/^Nothing is known of what the last turn reached: /);
  });

  it("reports the fault of an unreadable log", async () => {
    await using user = await createBudgieUser();
    await remember(user, [["reader", undefined]]);
    const path = join(user.host.home, ".local/state/budgie/runs.sqlite3");
    writeFileSync(path, "no database ".repeat(1000));

    const { exitCode, stderr } = await user.command(["egress", "suggest"]);

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^budgie: Cannot use the run log ".*runs\.sqlite3" \(file is not a database\)\..*\n$/);
  });
});
