import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createFakeEngine, type Answers, type FakeEngine } from "../../../runner-docker/test/helpers/fake-engine.ts";
import { createBudgieUser } from "../../../cli/test/helpers/start-budgie.ts";

const names = [1, 2, 3, 4, 5].map(() => `budgie-session-${randomUUID()}`);
const [first = "", second = "", third = ""] = names;

/** Returns a volume as `docker run -v NAME:PATH` creates it. */
const legacy = (Name: string, changes: object = {}): object => ({
  Name,
  Driver: "local",
  Labels: null,
  Options: null,
  CreatedAt: "2026-01-02T03:04:05Z",
  ...changes,
});

/** Creates an engine without anything of budgie's own. */
function createEngine(Volumes: readonly object[], removals: Answers = {}): Promise<FakeEngine> {
  return createFakeEngine({
    "GET /version": { ApiVersion: "1.41", Version: "20.10.24" },
    "GET /info": {},
    "GET /containers/json": [{ status: 200, body: [] }],
    "GET /images/json": [{ status: 200, body: [] }],
    "GET /volumes": [
      { status: 200, body: { Volumes: [] } },
      { status: 200, body: { Volumes } },
    ],
    ...removals,
  });
}

const removals = ({ requests }: FakeEngine): readonly string[] => requests.filter((line) => line.startsWith("DELETE"));

describe("budgie gc on an engine where the original left volumes", () => {
  it("names them, and removes none", async () => {
    await using user = await createBudgieUser();
    await using engine = await createEngine(names.map((name) => legacy(name)));

    const { exitCode, stdout } = await user.command(["gc"], engine.hostEnv);

    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout:
        "Removed nothing.\n" +
        `The original budgie left 5 volumes that may hold a login: ${first}, ${second}, ${third}, and 2 more.\n` +
        '"budgie gc --legacy" removes what no container uses. End the original before: its sessions are such volumes too.\n',
    });
    expect(removals(engine)).toEqual([]);
  });

  it("removes with --legacy those that no container uses", async () => {
    await using user = await createBudgieUser();
    await using engine = await createEngine([legacy(first), legacy(second), legacy(third)], {
      [`DELETE /volumes/${first}`]: [{ status: 204, body: "" }],
      [`DELETE /volumes/${second}`]: [{ status: 409, body: { message: "volume is in use" } }],
      [`DELETE /volumes/${third}`]: [{ status: 500, body: { message: "the disk is on fire" } }],
    });

    const { exitCode, stdout } = await user.command(["gc", "--legacy"], engine.hostEnv);

    expect(exitCode).toBe(1);
    expect(stdout).toBe(
      `removed volume ${first}\nkept volume ${second}: a container uses it\n` +
        `could not remove volume ${third}: (HTTP code 500) server error - the disk is on fire \n` +
        "Removed 1 volume; kept 1; failed to remove 1.\n",
    );
    expect(engine.requests.join("\n")).toMatch(/GET \/volumes\?.*dangling/);
  });

  it("leaves with --legacy what it was not asked for", async () => {
    await using user = await createBudgieUser();
    const young = legacy(second, { CreatedAt: new Date().toISOString() });
    const volumes = [legacy(first), young, legacy(third, { CreatedAt: undefined })];

    await using engine = await createEngine(volumes);
    const { stdout } = await user.command(["gc", "--legacy", "--older-than", "24h", "--dry-run"], engine.hostEnv);

    expect(stdout).toBe(
      `would remove volume ${first}\n` +
        [second, third].map((name) => `kept volume ${name}: it is younger than asked for\n`).join("") +
        "Would remove 1 volume; kept 2.\n",
    );
    expect(removals(engine)).toEqual([]);
  });

  it.each([
    ["has budgie's labels", first, { Labels: { "dev.budgie": "1" } }],
    ["has another program's labels", first, { Labels: { "com.docker.compose.project": "mine" } }],
    ["is a folder of the host", first, { Options: { type: "none", o: "bind", device: "/home" } }],
    ["has another driver", first, { Driver: "nfs" }],
    ["is a login of budgie's own", `${first}-auth`, {}],
    ["has a longer name", `old-${first}`, {}],
  ])("never takes for one a volume that %s", async (_what, name, changes) => {
    await using user = await createBudgieUser();
    await using engine = await createEngine([legacy(name, changes)]);

    const { stdout } = await user.command(["gc", "--legacy", "--json"], engine.hostEnv);

    expect(JSON.parse(stdout)).toEqual({ dryRun: false, removed: [], kept: [], failed: [], legacy: [] });
    expect(removals(engine)).toEqual([]);
  });
});
