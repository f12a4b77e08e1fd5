import {
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionId, type Runner, type RunnerSession } from "@budgie/core";
import { createDockerPlace, run, testEngine } from "./helpers/docker-place.ts";

const place = createDockerPlace();
const [uid, gid] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
let runner: Runner;
let session: RunnerSession;

beforeAll(async () => {
  ({ runner } = await place.createRunner({ limits: { memoryBytes: 256 * 1024 ** 2, pids: 64, cpus: 1 } }));
  session = await runner.openSession(createSessionId());
});
afterAll(() => place[Symbol.asyncDispose]());

const sh = (script: string) => run(session, place.workspace, script);
const lineOf = async (script: string) => (await sh(script)).stdout.trim();

describe("the user of a sandbox", () => {
  it("is the caller, with a name and a home", async () => {
    expect(
      await lineOf('echo "$(id -u):$(id -g) $(whoami) $HOME $USER"; test -w "$HOME" && test -O "$HOME" && echo own'),
    ).toBe(`${uid}:${gid} ${uid === 0 ? "root" : "agent"} /home/agent ${uid === 0 ? "root" : "agent"}\nown`);
  });

  it("has a notice if it is root", () => {
    expect(runner.notices).toHaveLength(uid === 0 ? 1 : 0);
  });

  it("owns what it writes in the workspace, on the host too", async () => {
    await sh("mkdir made-dir; echo x > made-dir/file");

    const made = statSync(join(place.workspace, "made-dir/file"));
    expect([made.uid, made.gid]).toEqual([uid, gid]);
  });

  const group = findGroup();
  // The caller needs a supplementary group.
  it.skipIf(group === undefined)("is in the workspace's group when the caller is", async () => {
    const shared = join(place.root, "shared");
    mkdirSync(shared);
    chownSync(shared, uid, group ?? gid);

    const { stdout } = await run(session, shared, "id -G");

    expect(stdout.trim().split(" ")).toContain(String(group));
    expect((await lineOf("id -G")).split(" ")).not.toContain(String(group));
  });
});

describe("the kernel's protections", () => {
  it("put an init first, which waits for orphans", async () => {
    expect(await lineOf("cat /proc/1/comm")).toMatch(/init|tini|catatonit/);
  });

  it("bound memory: the agent is killed, and the error says why", async () => {
    const { exit } = await sh("exec tail /dev/zero");

    expect(exit).toEqual({ exitCode: undefined, signal: "SIGKILL", reason: "out-of-memory", oomKilled: true });
  });

  it("bound memory: an agent survives the death of its tool", async () => {
    const { exit, stdout } = await sh("sh -c 'tail /dev/zero'; echo lives; exit 0");

    expect(stdout).toBe("lives\n");
    expect(exit).toEqual({ exitCode: 0, signal: undefined, reason: undefined, oomKilled: true });
  });
});

describe("the file system of a sandbox", () => {
  it("is read-only except for the home, the workspace and temporary folders", async () => {
    const places = "/ /bin /etc /usr/local /var/lib /root /opt /auth /home /etc/passwd /proc/sys/kernel/hostname";
    const probe = `for p in ${places} "$HOME" /workspace /tmp /var/tmp /dev/shm; do
      if [ -d "$p" ]; then t="$p/.probe"; else t="$p"; fi
      if (echo x >> "$t") 2>/dev/null; then echo "$p"; fi; done`;

    const writable = (await lineOf(probe)).split("\n");

    // The home's parent in the volume belongs to root.
    expect(writable.filter((path) => path !== "/home")).toEqual([
      "/home/agent",
      "/workspace",
      "/tmp",
      "/var/tmp",
      "/dev/shm",
    ]);
  });

  it("lets programs run from /tmp, but never as another user", async () => {
    expect(await lineOf("cp /bin/echo /tmp/run && /tmp/run it runs")).toBe("it runs");
    expect(await lineOf("sed -n 's/^tmpfs \\/tmp tmpfs \\([^ ]*\\).*/\\1/p' /proc/mounts")).toMatch(/nosuid,nodev/);
  });
});

it("a crash starts no program of the host's that takes core files, which a limit of 0 allows", async () => {
  expect(await lineOf("grep -i core /proc/self/limits | tr -s ' '")).toMatch(/^Max core file size 1 1 /);
});

describe("a hard link from before the turn", () => {
  it("is the file itself, also outside the workspace: a residual risk", async () => {
    const elsewhere = join(place.root, "elsewhere");
    writeFileSync(elsewhere, "as it was");
    linkSync(elsewhere, join(place.workspace, "linked"));

    await sh("printf changed >linked");

    expect(readFileSync(elsewhere, "utf8")).toBe("changed");
  });
});

describe("the container of a turn", () => {
  it("keeps no log, and is removed after the turn", async () => {
    const docker = await testEngine();
    const child = await session.start(
      { argv: ["sh", "-c", "sleep 60"], env: { SECRET: "hush" }, projections: [] },
      { directory: place.workspace, input: "" },
    );
    const filters = { label: [`dev.budgie.session=${session.id}`, "dev.budgie.role=turn"] };
    const [found] = await docker.listContainers({ filters });
    const { Config, HostConfig } = await docker.getContainer(found?.Id ?? "").inspect();
    await child.stop("cancelled");

    expect(HostConfig).toMatchObject({
      LogConfig: { Type: "none" },
      Privileged: false,
      PidMode: "",
      AutoRemove: false,
    });
    expect(JSON.stringify([Config.Labels, Config.Cmd])).not.toContain("hush");
    expect(await docker.listContainers({ all: true, filters })).toEqual([]);
  });

  it("starts ten times in a row without losing a byte of output", async () => {
    for (let count = 0; count < 10; count++) {
      const { exit, stderr, stdout } = await sh(`echo out ${count}; echo err ${count} >&2; exit ${count}`);
      expect([stdout, stderr, exit.exitCode]).toEqual([`out ${count}\n`, `err ${count}\n`, count]);
    }
  });
});

describe("the workspace's own agents", () => {
  it("are hidden, and the repository is unchanged", async () => {
    const agents = join(place.workspace, ".kiro/agents");
    mkdirSync(agents, { recursive: true });
    writeFileSync(join(agents, "code-reviewer.json"), "planted");
    writeFileSync(join(place.workspace, ".kiro/other"), "seen");

    const { stdout } = await sh("ls -A .kiro/agents; cat .kiro/other; echo x > .kiro/agents/mine && echo written");

    expect(stdout).toBe("seen");
    expect(readFileSync(join(agents, "code-reviewer.json"), "utf8")).toBe("planted");
    expect(readdirSync(agents)).toEqual(["code-reviewer.json"]);
  });

  it("leave no folder behind in a repository without them", async () => {
    const bare = join(place.root, "bare");
    mkdirSync(bare);
    await run(session, bare, "true");
    mkdirSync(join(bare, ".kiro"));
    await run(session, bare, "true");

    expect(existsSync(join(bare, ".kiro/agents"))).toBe(false);
    expect(readdirSync(bare)).toEqual([".kiro"]);
  });
});

/** Returns a supplementary group of the caller. */
function findGroup(): number | undefined {
  return process.getgroups?.().find((group) => group !== gid);
}
