import { text } from "node:stream/consumers";
import { createSessionId } from "@budgie/core";
import type { FilledEntry, WorkspaceCopy } from "@budgie/core/copies";
import { DEFAULT_ACCESS, KIRO_HIDDEN_PATHS } from "@budgie/core/policy";
import { describeRunner } from "@budgie/testkit";
import { afterAll, expect, it } from "vitest";
import { createDockerPlace, runCommand, testEngine } from "./helpers/docker-place.ts";

const place = createDockerPlace();
afterAll(() => place[Symbol.asyncDispose]());

describeRunner("docker", {
  async create(options) {
    const { owner, runner } = await place.createRunner(options);
    return {
      runner,
      workspaceRoot: place.workspace,
      die: () => owner.release(),
      async [Symbol.asyncDispose]() {
        await runner.close();
        await owner.release();
      },
    };
  },
  async leftovers(id) {
    const docker = await testEngine();
    const filters = { label: [`dev.budgie.session=${id}`] };
    const [containers, { Volumes }] = await Promise.all([
      docker.listContainers({ filters }),
      docker.listVolumes({ filters }),
    ]);
    return { running: containers.map(({ Id }) => Id), stored: Volumes.map(({ Name }) => Name) };
  },
  startsIn: "workspace",
});

it("docker: a copy is filled, changed by an agent, read, and not covered through a planted link", async () => {
  const { runner } = await place.createRunner();
  const session = await runner.openSession(createSessionId());
  const work = (script: string) =>
    runCommand(
      session,
      { argv: ["sh", "-c", script], env: {}, projections: [], hidden: KIRO_HIDDEN_PATHS },
      { directory: place.workspace, access: { ...DEFAULT_ACCESS, workspace: "copy" } },
    );
  const copy = session.copy?.();
  await copy?.fill(list());

  const seen = await work(
    "cat a.txt; ls -A .kiro/agents; stat -c %a closed; echo two > a.txt; ln a.txt twice; chmod 0 a.txt",
  );
  const found = await readAll(copy);
  await work("mv .kiro .other; mkdir -p .kiro/real; ln -s real .kiro/agents");

  expect(seen.stdout).toBe("one\n555\n");
  expect(found).toEqual({
    ".kiro": "folder",
    ".kiro/agents": "folder",
    ".kiro/agents/evil.json": "{}",
    "a.txt": "two\n",
    closed: "folder",
    "closed/link": "link",
    twice: "two\n",
  });
  await expect(work("true")).rejects.toMatchObject({ code: "WORKSPACE_INVALID" });
  await session.remove();
});

async function* list(): AsyncGenerator<FilledEntry> {
  for (const path of [".kiro", ".kiro/agents"]) yield { entry: { path, kind: "folder", mode: 0o755 } };
  yield file(".kiro/agents/evil.json", "{}");
  yield file("a.txt", "one\n");
  yield { entry: { path: "closed", kind: "folder", mode: 0o555 } };
  yield { entry: { path: "closed/link", kind: "link", target: "/etc/passwd" } };
}

function file(path: string, content: string): FilledEntry {
  return { entry: { path, kind: "file", mode: 0o644, size: content.length }, content: Buffer.from(content) };
}

async function readAll(copy: WorkspaceCopy | undefined): Promise<Readonly<Record<string, string>>> {
  const found: [string, string][] = [];
  for await (const { content, entry } of copy?.read() ?? []) {
    found.push([entry.path, content === undefined ? entry.kind : await text(content)]);
  }
  return Object.fromEntries(found);
}
