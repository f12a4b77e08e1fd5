import { mkdirSync, rmSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createSessionId, type Command, type StartOptions } from "@budgie/core";
import { DEFAULT_ACCESS } from "@budgie/core/policy";
import { collectDockerGarbage } from "@budgie/runner-docker";
import { connectEngine } from "../../src/engine/engine.ts";
import { findImage } from "../../src/image/find-image.ts";
import { CACHE_LABEL, createCaches } from "../../src/session/create-caches.ts";
import { toStateLabel } from "../../src/image/build-project-image.ts";
import { BASE_IMAGE, createDockerPlace, runCommand, testEngine } from "../helpers/docker-place.ts";
import { buildImage } from "../image/build-image.ts";

const place = createDockerPlace();
const home = process.env["HOME"] ?? "/root";
afterAll(async () => {
  await removeCaches();
  await place[Symbol.asyncDispose]();
});

async function removeCaches(): Promise<void> {
  for (const name of await listCaches()) await (await testEngine()).getVolume(name).remove();
}

async function listCaches(): Promise<readonly string[]> {
  const label = [`${CACHE_LABEL}=${toStateLabel(place.stateDir)}`];
  const { Volumes } = await (await testEngine()).listVolumes({ filters: { label } });
  return Volumes.map(({ Name }) => Name);
}

type Start = { readonly command?: Partial<Command>; readonly options?: Partial<StartOptions> };

/** Runs a script in a new session of a new runner, as a later budgie does. */
async function runAnew(script: string, { command = {}, options = {} }: Start = {}) {
  const { owner, runner } = await place.createRunner();
  const session = await runner.openSession(createSessionId());
  const cache = { tools: ["npm", "go"] as const, trust: "full" };
  const all = { argv: ["sh", "-c", script], env: {}, projections: [], cache, ...command } as Command;
  const { exit, stderr, stdout } = await runCommand(session, all, { directory: place.workspace, ...options });
  await runner.close();
  await owner.release();
  return { stdout, stderr, exit };
}

/** Keeps a container with the cache of a later start. */
async function useCache() {
  const [name = ""] = await listCaches();
  const container = await (
    await testEngine()
  ).createContainer({
    Image: BASE_IMAGE,
    HostConfig: { Binds: [`${name}:/cache`], NetworkMode: "none" },
  });
  let isThere = true;
  const end = async (): Promise<void> => {
    if (isThere) await container.remove();
    isThere = false;
  };
  return { end, [Symbol.asyncDispose]: end };
}

const LOOK = "cat /cache/npm/left 2>/dev/null || echo nothing";

describe("a cache", () => {
  it("has for a later session what an earlier one left, where its variables say", async () => {
    await runAnew('mkdir -p "$npm_config_cache" "$GOMODCACHE" && echo downloaded >"$npm_config_cache/left"');

    const found = await runAnew(`${LOOK}; ls /cache; id -u >/cache/npm/uid`);

    expect(found).toMatchObject({ stdout: "downloaded\ngo\nnpm\n", stderr: "" });
    expect(await listCaches()).toHaveLength(1);
  });

  const other = join(place.root, "other");
  mkdirSync(other);
  it.each<[string, Start]>([
    ["another directory", { options: { directory: other } }],
    ["another network", { options: { access: { ...DEFAULT_ACCESS, egress: { mode: "open", hosts: [] } } } }],
    ["another login", { command: { cache: { tools: ["npm"], trust: "access-token" } } }],
    ["a login that ends by itself", { command: { isShortLogin: true } }],
    ["other variables", { command: { env: { NPM_TOKEN: "secret" } } }],
  ])("is not that of %s, whose agent could have poisoned it", async (_, start) => {
    expect((await runAnew(LOOK, start)).stdout).toBe("nothing\n");
    // The control: the values of variables do not matter, nor what was done meanwhile.
    expect((await runAnew(LOOK)).stdout).toBe("downloaded\n");
  });

  it("is not that of another image", async () => {
    await using image = await buildImage(`FROM ${BASE_IMAGE}\nRUN echo ${Math.random()} >/etc/other`);

    expect((await runAnew(LOOK, { command: { image: image.name } })).stdout).toBe("nothing\n");
  });

  it("can be read and not changed in a directory that is read-only", async () => {
    const options = { access: { ...DEFAULT_ACCESS, workspace: "ro" as const } };

    const { stderr, stdout } = await runAnew(`${LOOK}; echo poison >/cache/npm/left`, { options });

    expect(stdout).toBe("downloaded\n");
    expect(stderr).toContain("Read-only file system");
  });

  it("is not there for a command without one", async () => {
    const { stdout } = await runAnew('ls /cache 2>/dev/null; echo "[$npm_config_cache]"', {
      command: { cache: undefined },
    });

    expect(stdout).toBe("[]\n");
  });

  it("is emptied before its next use once it is too large", async () => {
    const engine = await connectEngine(process.env, home);
    const image = await findImage(engine, BASE_IMAGE);
    const { owner } = await place.createRunner();
    const user = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    const open = (mostBytes: number) =>
      createCaches(engine, { image, user, owner: owner.record, stateDir: place.stateDir, mostBytes })({
        command: { cache: { tools: ["npm"], trust: "full" }, env: {} },
        imageId: image.id,
        options: { directory: place.workspace },
      });
    await removeCaches();
    await runAnew("mkdir -p /cache/npm; head -c 2M /dev/zero >/cache/npm/left");

    await open(4 * 2 ** 20);
    const kept = await runAnew("du -k /cache/npm/left | cut -f1");
    await using container = await useCache();
    const used = await open(2 ** 20);
    await container.end();
    await open(2 ** 20);

    expect(kept.stdout).toBe("2048\n");
    expect(used).toBeUndefined();
    expect((await runAnew(LOOK)).stdout).toBe("nothing\n");
  });

  it("stays while its directory is used, and goes with budgie gc then", async () => {
    await removeCaches();
    const gone = join(place.root, "gone");
    mkdirSync(gone);
    await runAnew("mkdir -p /cache/npm; echo downloaded >/cache/npm/left", { options: { directory: gone } });
    await runAnew("mkdir -p /cache/npm; echo downloaded >/cache/npm/left");
    const { owner } = await place.createRunner();
    const collect = async () => {
      const policy = { dryRun: false, olderThanMs: 0 };
      const { kept, removed } = await collectDockerGarbage({
        owner,
        stateDir: place.stateDir,
        home,
        hostEnv: process.env,
        policy,
      });
      const isCache = ({ name }: { readonly name: string }): boolean => name.startsWith("budgie-cache-");
      return { removed: removed.filter(isCache).length, kept: kept.filter(isCache).map(({ why }) => why) };
    };
    const before = await collect();
    rmSync(gone, { recursive: true });
    const after = await collect();
    const [name = ""] = await listCaches();
    utimesSync(join(place.stateDir, "caches", name), 0, 0);

    expect(before.kept).toContain(`it is the cache of "${gone}"`);
    expect(after).toEqual({ removed: 1, kept: [`it is the cache of "${place.workspace}"`] });
    expect(await collect()).toEqual({ removed: 1, kept: [] });
  });
});
