import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createOwner, createSessionId, type RunnerSession } from "@budgie/core";
import type { WorkspaceCopy } from "@budgie/core/copies";
import { DEFAULT_ACCESS } from "@budgie/core/policy";
import { afterAll, describe, expect, it } from "vitest";
import { createBudgieUser } from "../../../../cli/test/helpers/start-budgie.ts";
import { createDockerPlace, runCommand, testEngine } from "../../../../runner-docker/test/helpers/docker-place.ts";
import { createChangeSetsOpener } from "../../../src/server/change-sets-opener.ts";
import { openCopies } from "../../../src/server/open-copies.ts";

const place = createDockerPlace();
const changes = createChangeSetsOpener(
  { stateDir: place.stateDir, keepChangesMs: 60 * 60_000 },
  createOwner({ stateDir: place.stateDir }),
);
afterAll(async () => {
  await changes.close();
  await place[Symbol.asyncDispose]();
});

describe("invoke_parallel", () => {
  it("has each agent work on a copy of its own, and names the paths that both changed", async () => {
    await using user = await createBudgieUser();
    const { client } = await user.serve({ sandbox: true, args: ["--workspace", "copy"] });
    const run = (script: string) => ({ agent: "shell-worker", prompt: `[[run: ${script}]]` });
    const agents = [
      run("echo one >same.txt; echo >own.txt; ls"),
      run("echo two >same.txt; ls"),
      { agent: "missing", prompt: "Hello" },
    ];

    const call = { name: "invoke_parallel", arguments: { directory: user.workspace, agents } };
    const result = await client.callTool(call, undefined, { timeout: 300_000 });

    const { overlaps, results } = result.structuredContent as { overlaps: unknown; results: Record<string, unknown>[] };
    const [first, second] = results;
    expect(first?.["response"]).toMatch(/own\.txt/);
    expect(second?.["response"]).not.toMatch(/own\.txt/);
    expect(results.map(({ code, status }) => [status, code])).toEqual([
      ["done", undefined],
      ["done", undefined],
      ["failed", "AGENT_NOT_FOUND"],
    ]);
    expect(first?.["sessionId"]).not.toBe(second?.["sessionId"]);
    expect(overlaps).toEqual([{ path: "same.txt", changeIds: [expect.any(String), expect.any(String)] }]);
    expect(existsSync(join(user.workspace, "same.txt"))).toBe(false);
  });
});

describe("sessions with the same directory", () => {
  it("share a base that none of them can change, and lose their copies with it", async () => {
    const directory = join(place.root, "shared");
    mkdirSync(join(directory, "sub/deep"), { recursive: true });
    writeFileSync(join(directory, "a.txt"), "one\n");
    writeFileSync(join(directory, "sub/deep/b.txt"), "two\n");
    const { owner, runner } = await place.createRunner();
    const config = {
      copyFiles: "all",
      copyInclude: [],
      copyWorktreeInclude: false,
      copyExclude: [],
      stateDir: place.stateDir,
      transport: "stdio",
    } as const;
    const copies = openCopies(config, { env: {}, home: place.root, report: () => undefined }, changes);
    const begin = async () => {
      const session = await runner.openSession(createSessionId());
      const turn = { sessionId: session.id, runId: "run", agent: "worker", directory };
      const copy = copyOf(session);
      const { isReused } = await copies.prepare(copy, turn);
      return { isReused, session, copy, turn };
    };
    const work = async ({ session }: { readonly session: RunnerSession }, script: string): Promise<string> => {
      const command = { argv: ["sh", "-c", script], env: {}, projections: [] } as const;
      const access = { ...DEFAULT_ACCESS, workspace: "copy" } as const;
      return (await runCommand(session, command, { directory, access })).stdout;
    };
    const instance = owner.record.instance;

    // The first copy of a directory may remain the only one.
    const first = await begin();
    expect(await listBases(instance)).toEqual([]);
    await first.session.remove();
    const [second, third] = [await begin(), await begin()];
    expect(await listBases(instance)).toHaveLength(1);
    await work(second, "mv sub moved; rm moved/deep/b.txt; echo more >>a.txt; echo new >c.txt");

    expect(await work(third, "cat a.txt sub/deep/b.txt; test ! -e c.txt")).toBe("one\ntwo\n");
    expect(await work(second, "cat a.txt; ls . moved/deep")).toBe(
      "one\nmore\n.:\na.txt\nc.txt\nmoved\n\nmoved/deep:\n",
    );
    expect(await copies.collect(second.copy, second.turn)).toMatchObject({ changed: 1, added: 3, removed: 3 });
    expect(await copies.collect(third.copy, third.turn)).toBeUndefined();
    // Nobody who prunes volumes removes what an agent wrote.
    const written = (await listVolumes("dev.budgie.role=copy", instance)).filter((name) => name.endsWith("-upper"));
    const docker = await testEngine();
    for (const name of written)
      await expect(docker.getVolume(name).remove()).rejects.toMatchObject({ statusCode: 409 });
    expect(written).toHaveLength(2);

    writeFileSync(join(directory, "a.txt"), "other\n");
    const fourth = await begin();
    expect(await work(fourth, "cat a.txt")).toBe("other\n");
    expect(await listBases(instance)).toHaveLength(2);
    await removeBases(instance);
    await expect(work(third, "true")).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
    await expect(copies.prepare(third.copy, third.turn)).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });
    await Promise.all([second, third, fourth].map(({ session }) => session.remove()));
    expect(await listVolumes(`dev.budgie.role=copy`, instance)).toEqual([]);
  });
});

function copyOf(session: RunnerSession): WorkspaceCopy {
  const copy = session.copy?.();
  if (copy === undefined) throw new Error("This engine has no copies.");
  return copy;
}

const listBases = (instance: string) => listVolumes("dev.budgie.role=base", instance);

async function listVolumes(label: string, instance: string): Promise<readonly string[]> {
  const docker = await testEngine();
  const filters = { label: [label, `dev.budgie.instance=${instance}`] };
  return (await docker.listVolumes({ filters })).Volumes.map(({ Name }) => Name);
}

/** Removes the bases, as somebody would who cleans up by hand. */
async function removeBases(instance: string): Promise<void> {
  const docker = await testEngine();
  for (const name of await listBases(instance)) {
    await docker.getContainer(name).remove({ force: true });
    await docker.getVolume(name).remove();
  }
}
