import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { createSessionId, type Command, type SessionId } from "@budgie/core";
import type { Credentials } from "@budgie/runner-docker";
import { createHostHome, kiroCliPath, type HostHome } from "@budgie/testkit";
import { createDockerPlace, KIRO_IMAGE, runCommand, testEngine } from "../helpers/docker-place.ts";

const place = createDockerPlace();
afterAll(() => place[Symbol.asyncDispose]());

let count = 0;
let directory: string;
beforeEach(() => mkdirSync((directory = join(place.root, `workspace-${count++}`))));

/** Opens a session of the stand-in for kiro-cli with these credentials. */
async function open(host: HostHome, credentials: Credentials | undefined) {
  const { runner } = await place.createRunner({ image: KIRO_IMAGE, kiroDataDir: host.dataDir, credentials });
  const session = await runner.openSession(createSessionId());
  const projections = [{ source: host.agentsDir, home: ".kiro/agents" }];
  const command = (argv: Command["argv"], env: Command["env"] = {}) =>
    runCommand(session, { argv, env, projections, login: "kiro" }, { directory });
  return {
    id: session.id,
    command,
    kiro: async (prompt: string, env: Command["env"] = {}) => {
      const chat = ["kiro-cli", "chat", "--no-interactive", "--agent", "shell-worker", "--resume"] as const;
      const options = { directory, input: prompt };
      const child = await session.start({ argv: [...chat], env, projections, login: "kiro" }, options);
      const [stdout] = await Promise.all([buffer(child.stdout), buffer(child.stderr), child.exit]);
      return stdout.toString();
    },
  };
}

/** Reads every byte of a session's volumes through the engine, without the agent and the code under test. */
async function readVolumes(id: SessionId): Promise<Buffer> {
  const sessionContainer = (await testEngine()).getContainer(`budgie-session-${id}`);
  const archives = ["/home", "/auth"].map(async (path) =>
    buffer((await sessionContainer.getArchive({ path })) as Readable),
  );
  return Buffer.concat(await Promise.all(archives));
}

/** Lists the login's secrets in these bytes. */
function secretsIn(bytes: Buffer, { canaries }: HostHome): readonly string[] {
  return ["access", "refresh", "secret"].filter((part) => bytes.includes(`${canaries.login}-${part}`));
}

/** Runs the user's `kiro-cli whoami` on the host. */
async function whoami({ home }: HostHome): Promise<void> {
  await promisify(execFile)(kiroCliPath, ["whoami"], { env: { PATH: process.env["PATH"] ?? "", HOME: home } });
}

const EXPIRE = "UPDATE auth_kv SET value = replace(value, '2099', '2020') WHERE key LIKE '%:token'";

describe("the credentials of a sandbox", () => {
  // The first two rows show that this search finds the secrets that the others lack.
  it.each([
    [undefined, "", ["access", "refresh", "secret"]],
    ["full", "", ["access", "refresh", "secret"]],
    ["access-token", "", ["access"]],
    ["full", "ksk-of-the-host", []],
    ["api-key", "ksk-of-the-host", []],
    ["none", "key-of-the-image", []],
  ] as const)("are limited to %s in every byte of its volumes", async (credentials, key, expected) => {
    await using host = await createHostHome({ wal: true });
    const { id, kiro } = await open(host, credentials);

    const answer = await kiro("[[say: hello]]", key === "" ? {} : { KIRO_API_KEY: key });

    const bytes = await readVolumes(id);
    expect(answer).toContain("hello");
    expect(bytes.includes("SQLite format 3")).toBe(true);
    expect(secretsIn(bytes, host)).toEqual(expected);
  });
});

describe("a key that is set later", () => {
  it("leaves no byte of the login in the session's volumes, and its conversation", async () => {
    await using host = await createHostHome();
    const { id, kiro } = await open(host, "full");
    await kiro("remember token-one");
    const before = secretsIn(await readVolumes(id), host);

    const answer = await kiro("[[recall]]", { KIRO_API_KEY: "ksk-of-the-host" });

    expect(before).toEqual(["access", "refresh", "secret"]);
    expect(answer).toContain("token-one");
    expect(secretsIn(await readVolumes(id), host)).toEqual([]);
  });
});

describe("access-token", () => {
  it("uses the token that the host has renewed, and keeps the conversation", async () => {
    await using host = await createHostHome();
    const { id, kiro } = await open(host, "access-token");
    await kiro("remember token-one");
    host.changeDatabase(EXPIRE);
    await whoami(host);

    const answer = await kiro("[[recall]]");

    const bytes = await readVolumes(id);
    expect(answer).toContain("token-one");
    expect(bytes.includes('"access_token":"refreshed-')).toBe(true);
    expect(bytes.includes("rotated-")).toBe(false);
    expect(secretsIn(bytes, host)).not.toContain("refresh");
  });

  it("refuses an expired token, and accepts it once the host has renewed it", async () => {
    await using host = await createHostHome();
    host.changeDatabase(EXPIRE);
    const { id, kiro } = await open(host, "access-token");

    await expect(kiro("[[say: hello]]")).rejects.toMatchObject({
      code: "LOGIN_REQUIRED",
      message: expect.stringContaining('Run "kiro-cli whoami"'),
    });
    expect(secretsIn(await readVolumes(id), host)).toEqual([]);
    await whoami(host);
    expect(await kiro("[[say: hello]]")).toContain("hello");
  });

  // With `full` the agent can use up the host's refresh token.
  it.each([
    ["access-token", "", 1],
    ["full", "rotated-", 0],
  ] as const)("cannot be renewed inside, as full can: %s leaves %j", async (credentials, expected, exitCode) => {
    await using host = await createHostHome();
    const { command, id } = await open(host, credentials);
    await command(["sh", "-c", EXPIRE_INSIDE]);

    const { exit } = await command(["kiro-cli", "whoami"]);

    const bytes = await readVolumes(id);
    expect(exit.exitCode).toBe(exitCode);
    expect(bytes.includes("rotated-") ? "rotated-" : "").toBe(expected);
  });
});

// The new time is as long as the stored one, so the file stays a valid database.
const EXPIRE_INSIDE = `sed -i 's/"expires_at":"2099/"expires_at":"2020/g' "$HOME/.local/share/kiro-cli/data.sqlite3"`;

describe("none", () => {
  it("gives kiro-cli no login", async () => {
    await using host = await createHostHome();
    const { command } = await open(host, "none");

    const { exit, stderr } = await command(["kiro-cli", "whoami"]);

    expect([exit.exitCode, stderr]).toEqual([1, "Not logged in\n"]);
  });
});
