import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { connectEngine } from "../../src/engine/engine.ts";
import { BASE_IMAGE, createDockerPlace, run, runCommand, testEngine } from "../helpers/docker-place.ts";
import { findSshLack, startSshServer, type SshServer } from "../helpers/ssh-server.ts";

const lack = findSshLack();
// Without its own image, as elsewhere, the proxy of these sandboxes would need Node.js in the image.
const HERE = { proxyPlacement: "host" } as const;
const ABANDONED = fileURLToPath(new URL("../fixtures/abandoned-runner.mjs", import.meta.url));
const BYTES = 3_000_000;

describe.skipIf(lack !== undefined)(`an engine over ssh${lack === undefined ? "" : ` (skipped: ${lack})`}`, () => {
  const place = createDockerPlace();
  let server: SshServer;
  beforeAll(async () => void (server = await startSshServer()));
  afterAll(async () => {
    await place[Symbol.asyncDispose]();
    await removeLeft(place.stateDir);
    await server[Symbol.asyncDispose]();
  });

  it("runs turns that read, write and print like those of a local one", async () => {
    const { runner } = await place.createRunner({ ...HERE, hostEnv: server.hostEnv });
    const session = await runner.openSession(createSessionId());
    const script = "cat > got; wc -c < got; cat got; echo answer > ~/answer.txt; echo oops >&2; exit 3";
    const ran = await runCommand(
      session,
      { argv: ["sh", "-c", script], env: {}, projections: [] },
      { directory: place.workspace, input: "x".repeat(BYTES) },
    );

    expect(ran.exit).toMatchObject({ exitCode: 3 });
    expect(ran.stdout).toBe(`${BYTES}\n${"x".repeat(BYTES)}`);
    expect(ran.stderr).toBe("oops\n");
    expect(readFileSync(join(place.workspace, "got"), "utf8")).toHaveLength(BYTES);
    expect(await session.readFile("answer.txt")).toContain("answer");
    expect((await run(session, place.workspace, "cat ~/answer.txt")).stdout).toBe("answer\n");
  });

  it("is asked over connections that are used again", async () => {
    const before = server.commands().length;
    const { docker } = await connectEngine(server.hostEnv, "/nowhere");
    for (let pings = 0; pings < 20; pings++) await docker.ping();
    const answers = await Promise.all(Array.from({ length: 10 }, () => docker.version()));

    expect(new Set(answers.map(({ ApiVersion }) => ApiVersion)).size).toBe(1);
    const dials = server
      .commands()
      .slice(before)
      .filter((line) => line !== "ended");
    expect(dials.every((line) => line === "docker system dial-stdio")).toBe(true);
    expect(dials.length).toBeLessThanOrEqual(16);
  });

  it("is the one whose socket the address names", async () => {
    const path = "/run/budgie-no-such-engine.sock";
    const before = server.commands().length;
    const env = { ...server.hostEnv, DOCKER_HOST: server.url + path };

    await expect(connectEngine(env, "/nowhere")).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
    expect(server.commands().slice(before)).toContain(`docker --host=unix://${path} system dial-stdio`);
  });

  it("whose host key is unknown is refused, with the command that shows the key", async () => {
    const hostEnv = server.withSettings("Host *\nUserKnownHostsFile /dev/null\n");

    await expect(place.createRunner({ hostEnv })).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringMatching(/its host key is unknown\. Run "ssh -p \d+ \w+@127\.0\.0\.1" once/),
    });
  });

  it("that takes no key of the user is refused, without a question", async () => {
    const hostEnv = server.withSettings("Host *\nPubkeyAuthentication no\n");

    await expect(place.createRunner({ hostEnv })).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringMatching(/it accepts none of your keys\..* It said ".*Permission denied \(publickey\)/),
    });
  });

  it.each([
    ["has no docker", "exec no-such-program-of-budgie", /there is no docker on the PATH.*Install/],
    [
      "has no engine",
      'echo "Cannot connect to the Docker daemon at unix:///x." >&2; exit 1',
      /no engine answers there/,
    ],
    ["has another docker", "echo \"unknown command 'dial-stdio'\" >&2; exit 125", /its docker has no dial-stdio/],
    ["speaks no HTTP", "echo hello", /Cannot reach a container engine at ssh:/],
  ])("on a machine that %s is refused with the remedy", async (_what, script, message) => {
    const restore = server.replaceDocker(script);
    try {
      await expect(connectEngine(server.hostEnv, "/nowhere")).rejects.toMatchObject({
        code: "RUNNER_UNAVAILABLE",
        message: expect.stringMatching(message),
      });
    } finally {
      restore();
    }
  });

  it.skipIf(process.getuid?.() !== 0)(
    "that does not see this machine's files runs no turn in a directory",
    async () => {
      // In a mount namespace of its own, budgie writes where the engine does not see it.
      const scratch = join(place.stateDir, "scratch");
      const script = 'mount -t tmpfs none "$0" && exec "$@"';
      const args = [process.execPath, ABANDONED, place.stateDir, BASE_IMAGE, place.workspace, "live", "host"];
      mkdirSync(scratch, { recursive: true });
      const budgie = spawn("unshare", ["-m", "sh", "-c", script, scratch, ...args], { env: server.hostEnv });

      expect(await text(budgie.stderr)).toContain(
        `The engine at ${server.url} does not see this machine's directories, so no agent can work there in one.`,
      );
    },
  );

  it("loses the connections and the sandboxes of a budgie that was killed", async () => {
    const budgie = spawn(process.execPath, [ABANDONED, place.stateDir, BASE_IMAGE, place.workspace, "live", "host"], {
      env: server.hostEnv,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(createInterface({ input: budgie.stdout }), "line")) as [string];
    const { id } = JSON.parse(line) as { readonly id: string };
    const docker = await testEngine();
    const countRunning = async (): Promise<number> => {
      const filters = { label: [`dev.budgie.session=${id}`, "dev.budgie.role=turn"], status: ["running"] };
      return (await docker.listContainers({ filters })).length;
    };
    const countOpen = (): number =>
      server.commands().reduce((open, command) => open + (command === "ended" ? -1 : 1), 0);
    expect(await countRunning()).toBe(1);
    const open = countOpen();
    expect(open).toBeGreaterThan(0);

    budgie.kill("SIGKILL");

    await expect.poll(countRunning).toBe(0);
    await expect.poll(countOpen).toBeLessThan(open);
  });
});

/** Removes what killed budgies with this state left, which others on the engine would remove later. */
async function removeLeft(stateDir: string): Promise<void> {
  const docker = await testEngine();
  const filters = { label: ["dev.budgie"] };
  const isOurs = ({ Labels }: { readonly Labels: Readonly<Record<string, string>> }): boolean =>
    Labels["dev.budgie.lock"]?.startsWith(stateDir) === true;
  const containers = (await docker.listContainers({ all: true, filters })).filter(isOurs);
  await Promise.all(containers.map(({ Id }) => docker.getContainer(Id).remove({ force: true }).catch(ignoreGone)));
  const { Volumes } = await docker.listVolumes({ filters });
  await Promise.all(Volumes.filter(isOurs).map(({ Name }) => docker.getVolume(Name).remove().catch(ignoreGone)));
}

/** Ignores that another budgie on the engine has removed it, or does so now. */
function ignoreGone(error: { readonly statusCode?: number }): void {
  if (error.statusCode !== 404 && error.statusCode !== 409) throw error;
}
