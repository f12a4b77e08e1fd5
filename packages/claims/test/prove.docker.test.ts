import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { prove, type ClaimResult } from "@budgie/claims";
import { connectEngine } from "../../runner-docker/src/engine/engine.ts";
import { testEngine } from "../../runner-docker/test/helpers/docker-place.ts";
import { behind, ENGINE, OPTIONS } from "./helpers/describe-claims.ts";
import { ON_EACH_ENGINE } from "./helpers/on-each-engine.ts";
import { isMoot } from "../src/probe/verdicts.ts";

// A rootless engine has no other users, whose files these probes need.
const FOREIGN_FILE_PROBES = ["read another user's file", "run a setuid program as its owner"];
let temporary: string;

beforeEach(() => {
  temporary = mkdtempSync(join(tmpdir(), "budgie-p-"));
  vi.stubEnv("TMPDIR", temporary);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(temporary, { recursive: true, force: true });
});

describe("prove", () => {
  it("finds each claim that an engine could break held, except those that this one does, reports each, and leaves nothing behind", async () => {
    const { users, protections } = await connectEngine(ENGINE.hostEnv, ENGINE.home);
    const reported: ClaimResult[] = [];

    const results = await prove({ ...OPTIONS, claims: ON_EACH_ENGINE, onResult: (result) => reported.push(result) });

    const verdicts = results.flatMap(({ id, probes }) => probes.map(({ name, verdict }) => ({ id, name, ...verdict })));
    const through = verdicts.filter(({ outcome }) => outcome === "got-through");
    console.log(`${verdicts.length} probes ran, ${through.length} got through.`);
    const broken = new Set(
      protections.flatMap((protection) => (protection.state === "missing" ? protection.breaks : [])),
    );
    const unexpected = through.filter(({ id }) => !broken.has(id));
    expect(new Set(through.map(({ id }) => id)), JSON.stringify(unexpected)).toEqual(broken);
    const untried = verdicts.filter((verdict) => verdict.outcome === "untried" && !isMoot(verdict));
    expect(
      untried.map(({ name }) => name),
      JSON.stringify(untried),
    ).toEqual(users === "rootless" ? FOREIGN_FILE_PROBES : []);
    expect(verdicts.filter(({ id, outcome }) => broken.has(id) && outcome === "held")).toEqual([]);
    expect(results.map(({ id, promise, protections }) => ({ id, promise, protections }))).toEqual(
      ON_EACH_ENGINE.map(({ id, promise, protections }) => ({ id, promise, protections })),
    );
    expect(reported.toSorted(byId)).toEqual(results.toSorted(byId));
    expect(readdirSync(temporary)).toEqual([]);
    expect(await listFrom(temporary)).toEqual([]);
    // Some engines are several times slower than others.
  }, 600_000);

  it("rejects with the reason if there is no engine", async () => {
    const nowhere = { ...OPTIONS, ...behind({ hostEnv: { DOCKER_HOST: `unix://${temporary}/none.sock` } }) };

    await expect(prove(nowhere)).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
  });
});

function byId(one: ClaimResult, other: ClaimResult): number {
  return one.id.localeCompare(other.id);
}

/** Lists the containers and volumes of owners whose lock is in a folder. */
async function listFrom(folder: string): Promise<readonly string[]> {
  const docker = await testEngine();
  const filters = { label: ["dev.budgie=1"] };
  const [containers, { Volumes }] = await Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listVolumes({ filters }),
  ]);
  return [...containers, ...Volumes]
    .map(({ Labels }) => Labels["dev.budgie.lock"] ?? "")
    .filter((lock) => lock.startsWith(folder));
}
