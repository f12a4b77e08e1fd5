import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { OpenCopies } from "@budgie/copies/copying";
import { createOwner, createSessionId, type RunnerSession } from "@budgie/core";
import type { WorkspaceCopy } from "@budgie/core/copies";
import type { CopyChanges, CopyReport } from "@budgie/core/errors";
import { DEFAULT_ACCESS, KIRO_HIDDEN_PATHS, type Access } from "@budgie/core/policy";
import { afterAll, describe, expect, it } from "vitest";
import { createBudgieUser, toText } from "../../cli/test/helpers/start-budgie.ts";
import { createChangeSetsOpener } from "../src/server/change-sets-opener.ts";
import { openCopies } from "../src/server/open-copies.ts";
import { createDockerPlace, runCommand, testEngine, type Ran } from "../../runner-docker/test/helpers/docker-place.ts";

const place = createDockerPlace();
const changes = createChangeSetsOpener(
  { stateDir: place.stateDir, keepChangesMs: 60 * 60_000 },
  createOwner({ stateDir: place.stateDir }),
);
afterAll(async () => {
  await changes.close();
  await place[Symbol.asyncDispose]();
});

describe("an agent's copy of its directory", () => {
  it("has what git does not ignore, takes its changes, lasts for its session, and leaves the directory alone", async () => {
    const directory = makeWorkspace("lasting");
    const { copies, session } = await openSession();
    const first = await prepare(copies, session, directory);

    const seen = await work(
      session,
      directory,
      "cat a.txt link sub/deep.txt; ls -A . .kiro/agents .kiro/steering; stat -c %a run.sh",
    );
    const written = await work(
      session,
      directory,
      "echo new > b.txt; rm a.txt; ln run.sh twice; mkfifo pipe; chmod 700 run.sh; echo more >> sub/deep.txt",
    );
    const again = await work(session, directory, "cat b.txt; test ! -e a.txt");
    const mounts = await work(session, directory, `grep -c ${directory} /proc/self/mountinfo`);

    expect(first.isReused).toBe(false);
    expect(first.leftOut.map(({ paths, why }) => [why, ...paths])).toEqual([
      ["git ignores it", "dist/"],
      ["its name is one of secrets, and git does not track it", ".env"],
    ]);
    expect(seen.stdout.split("\n")).toEqual(
      expect.arrayContaining(["one", "deep", "a.txt", "node_modules", "steering.md", "755"]),
    );
    expect(seen.stdout).not.toMatch(/evil|\.env|dist/);
    expect([written.exit.exitCode, again.exit.exitCode, again.stdout]).toEqual([0, 0, "new\n"]);
    expect(mounts.stdout).toBe("0\n");
    expect(existsSync(join(directory, "b.txt"))).toBe(false);
    expect(readFileSync(join(directory, "a.txt"), "utf8")).toBe("one\n");
    expect((await prepare(copies, session, directory)).isReused).toBe(true);

    expect(await collect(copies, session, directory)).toMatchObject({
      added: 2,
      changed: 1,
      removed: 1,
      notApplicable: ["pipe"],
      changeId: expect.stringMatching(/^[0-9a-f]{64}$/),
      review: { conflicts: { count: 0 }, drift: { count: 0, isWhole: true }, overlaps: [] },
    });

    const found = await readCopy(session);
    expect(found.get("b.txt")).toMatchObject({ kind: "file", content: "new\n" });
    expect(found.get("run.sh")).toMatchObject({ kind: "file", mode: 0o700, content: "#!/bin/sh\n" });
    expect(found.get("twice")).toMatchObject({ kind: "file", content: "#!/bin/sh\n" });
    expect(found.get("pipe")).toMatchObject({ kind: "other" });
    expect(found.get("link")).toMatchObject({ kind: "link", target: "a.txt" });
    expect(found.get(".kiro/agents/evil.json")).toMatchObject({ kind: "file", content: "{}" });
    expect([...found.keys()]).not.toContain("a.txt");

    await session.remove();
    expect(await listLeft(session)).toEqual([]);
  });

  it("is read-only for an agent that may only read, and not covered through a planted link", async () => {
    const directory = makeWorkspace("planted");
    const { copies, session } = await openSession();
    await prepare(copies, session, directory);

    const reading = await workWith({ ...DEFAULT_ACCESS, workspace: "ro-copy" }, session, {
      directory,
      script: "cat a.txt; echo new > b.txt",
    });
    const planting = await work(session, directory, "mv .kiro .other; mkdir -p .kiro/real; ln -s real .kiro/agents");
    const after = await work(session, directory, "true").catch((error: unknown) => error);

    expect([reading.stdout, reading.exit.exitCode === 0]).toEqual(["one\n", false]);
    expect(planting.exit.exitCode).toBe(0);
    expect(after).toMatchObject({ code: "WORKSPACE_INVALID", message: expect.stringContaining(".kiro/agents") });
    await session.remove();
  });

  it("is filled anew after a fill that failed, and refused where there is none", async () => {
    const directory = makeWorkspace("failed");
    const { copies, session } = await openSession();
    const copy = session.copy?.();

    const early = await work(session, directory, "true").catch((error: unknown) => error);
    const failed = await copy?.fill(failing()).catch((error: unknown) => error);
    const made = await prepare(copies, session, directory);

    expect(early).toMatchObject({ code: "SESSION_UNUSABLE" });
    expect(failed).toMatchObject({ message: "torn" });
    expect(made.isReused).toBe(false);
    expect((await work(session, directory, "cat a.txt")).stdout).toBe("one\n");
    await session.remove();
    expect(await listLeft(session)).toEqual([]);
  });
});

describe("budgie --workspace copy", () => {
  it("answers with the change id and what the copy lacks, and goes on with the same copy, which takes over what changed if asked", async () => {
    await using user = await createBudgieUser();
    writeFileSync(join(user.workspace, ".env"), "TOKEN=secret");
    const { ask } = await user.serve({ sandbox: true, args: ["--workspace", "copy"] });

    const first = await ask("shell-worker", { prompt: "[[run: echo here; ls -A; echo hello >note.txt]]" });
    const { copy, sessionId } = first.structuredContent ?? {};
    writeFileSync(join(user.workspace, "later.txt"), "later");
    const second = await ask("shell-worker", { sessionId, refresh: true, prompt: "[[run: cat note.txt later.txt]]" });
    const loosened = await ask("shell-worker", { workspace: "rw", prompt: "Hello" });

    expect([first, second].map(toText)).toEqual(["here", "hello\nlater"]);
    expect(copy).toMatchObject({
      isReused: false,
      leftOut: [{ paths: [".env"] }],
      changes: { added: 1, changed: 0, removed: 0, changeId: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    expect(JSON.stringify(first.content)).toMatch(/It worked on a copy.*changeId.*1 added.*\.env/);
    expect(existsSync(join(user.workspace, "note.txt"))).toBe(false);
    expect(loosened).toMatchObject({ isError: true, structuredContent: { code: "INPUT_INVALID" } });
  });
});

async function* failing() {
  yield { entry: { path: "half", kind: "folder", mode: 0o755 } } as const;
  throw new Error("torn");
}

function makeWorkspace(name: string): string {
  const directory = join(place.root, name);
  const files = {
    "a.txt": "one\n",
    "sub/deep.txt": "deep\n",
    "dist/built.js": "",
    ".env": "TOKEN=secret",
    ".gitignore": "dist/\nnode_modules/\n",
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/config": "[core]\n\tbare = false\n\tfsmonitor = /tmp/evil\n",
    ".kiro/agents/evil.json": "{}",
    ".kiro/steering/steering.md": "",
    "node_modules/one/index.js": "",
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(directory, path, ".."), { recursive: true });
    writeFileSync(join(directory, path), content);
  }
  writeFileSync(join(directory, "run.sh"), "#!/bin/sh\n", { mode: 0o755 });
  symlinkSync("a.txt", join(directory, "link"));
  return directory;
}

async function openSession(): Promise<{ readonly copies: OpenCopies; readonly session: RunnerSession }> {
  const { runner } = await place.createRunner();
  const config = {
    copyFiles: "unignored",
    copyInclude: [],
    copyWorktreeInclude: false,
    copyExclude: [],
    stateDir: place.stateDir,
    transport: "stdio",
  } as const;
  const copies = openCopies(config, { env: {}, home: place.root, report: () => undefined }, changes);
  return { copies, session: await runner.openSession(createSessionId()) };
}

function prepare(copies: OpenCopies, session: RunnerSession, directory: string): Promise<CopyReport> {
  return copies.prepare(copyOf(session), { sessionId: session.id, runId: "run", agent: "reviewer", directory });
}

function collect(copies: OpenCopies, session: RunnerSession, directory: string): Promise<CopyChanges | undefined> {
  return copies.collect(copyOf(session), { sessionId: session.id, runId: "run", agent: "reviewer", directory });
}

function copyOf(session: RunnerSession): WorkspaceCopy {
  const copy = session.copy?.();
  if (copy === undefined) throw new Error("This engine has no copies.");
  return copy;
}

function work(session: RunnerSession, directory: string, script: string): Promise<Ran> {
  return workWith({ ...DEFAULT_ACCESS, workspace: "copy" }, session, { directory, script });
}

function workWith(
  access: Access,
  session: RunnerSession,
  { directory, script }: { readonly directory: string; readonly script: string },
): Promise<Ran> {
  const command = { argv: ["sh", "-c", script], env: {}, projections: [], hidden: KIRO_HIDDEN_PATHS } as const;
  return runCommand(session, command, { directory, access });
}

async function readCopy(session: RunnerSession): Promise<ReadonlyMap<string, object>> {
  const found = new Map<string, object>();
  for await (const { content, entry } of session.copy?.().read() ?? []) {
    found.set(entry.path, content === undefined ? entry : { ...entry, content: await text(content) });
  }
  return found;
}

async function listLeft({ id }: RunnerSession): Promise<readonly string[]> {
  const docker = await testEngine();
  const filters = { label: [`dev.budgie.session=${id}`] };
  const [containers, { Volumes }] = await Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listVolumes({ filters }),
  ]);
  return [...containers.flatMap(({ Names }) => Names), ...Volumes.map(({ Name }) => Name)];
}
