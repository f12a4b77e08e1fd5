import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createSessionId, type EgressPolicy, type RunnerSession } from "@budgie/core";
import { readHomeFile } from "../../src/container-files/read-home-file.ts";
import { createDockerPlace, testEngine } from "../helpers/docker-place.ts";
import { createEngineProxy, type EngineProxy } from "../helpers/engine-proxy.ts";
import { runWith } from "../proxy/egress-place.ts";

const WATCHED: EgressPolicy = { mode: "allowlist", hosts: [] };
const MOST_BYTES = 4 * 1024 * 1024;

const place = createDockerPlace();
let engine: EngineProxy;
let open: () => Promise<RunnerSession>;
beforeAll(async () => {
  engine = await createEngineProxy();
  const { runner } = await place.createRunner({ hostEnv: engine.hostEnv });
  open = () => runner.openSession(createSessionId());
});
afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await engine[Symbol.asyncDispose]();
});

const sh = (session: RunnerSession, script: string, policy = WATCHED) =>
  runWith(session, place.workspace, { policy, script });
const archivesSince = (count: number) =>
  engine
    .requestLines()
    .slice(count)
    .filter((line) => line.startsWith("GET") && line.includes("/archive"));

describe("an answer", () => {
  it("is read without the engine while the session container runs, and else with it", async () => {
    const [running, stopped] = [await open(), await open()];
    await sh(running, 'echo fast >"$HOME/answer.md"');
    await sh(stopped, 'echo slow >"$HOME/answer.md"', { mode: "none", hosts: [] });
    const before = engine.requestLines().length;

    expect(await running.readFile("answer.md")).toBe("fast\n");
    expect(archivesSince(before)).toEqual([]);
    expect(await stopped.readFile("answer.md")).toBe("slow\n");
    expect(archivesSince(before)).toHaveLength(1);
  });

  it("is read in a folder both ways, and through no symlink", async () => {
    const [running, stopped] = [await open(), await open()];
    const script =
      'mkdir -p "$HOME/deep/er"; echo found >"$HOME/deep/er/note"; ln -s deep "$HOME/link"; ln -s er "$HOME/deep/link"';
    await sh(running, script);
    await sh(stopped, script, { mode: "none", hosts: [] });
    const readAll = (session: RunnerSession) =>
      Promise.all(["deep/er/note", "link/er/note", "deep/link/note"].map((path) => session.readFile(path)));
    const before = engine.requestLines().length;

    expect(await readAll(running)).toEqual(["found\n", undefined, undefined]);
    expect(archivesSince(before)).toEqual([]);
    expect(await readAll(stopped)).toEqual(["found\n", undefined, undefined]);
    expect(archivesSince(before)).toHaveLength(1);
    expect(
      engine
        .requestLines()
        .slice(before)
        .filter((line) => /\/(?:start|kill|stop)\b/.test(line)),
    ).toEqual([]);
  });

  it("is truncated if it is too long", async () => {
    const session = await open();
    await sh(session, 'printf x >"$HOME/answer.md"; truncate -s 200G "$HOME/answer.md"');

    expect((await session.readFile("answer.md"))?.length).toBe(MOST_BYTES);
  });
});

describe("a path that was planted in a running session container's home", () => {
  const SECRET = "a secret of the host";
  let folder: string;
  let session: RunnerSession;
  beforeAll(() => {
    folder = join(place.root, "secrets");
    mkdirSync(folder);
    writeFileSync(join(folder, "answer.md"), SECRET);
  });
  beforeEach(async () => void (session = await open()));
  const readDirectly = async () => {
    const sessionContainer = (await testEngine()).getContainer(`budgie-session-${session.id}`);
    return (await readHomeFile(sessionContainer, "answer.md", { maxBytes: MOST_BYTES }))?.toString();
  };

  it("is read if it is a regular file", async () => {
    await sh(session, 'echo plain >"$HOME/answer.md"');

    expect(await readDirectly()).toBe("plain\n");
  });

  it.each([
    ["a link to a file of the host", () => `ln -s ${folder}/answer.md "$HOME/answer.md"`],
    ["a link that climbs to it", () => `ln -s ../../../../../../../..${folder}/answer.md "$HOME/answer.md"`],
    ["a link to a process of the host", () => `ln -s /proc/${process.pid}/environ "$HOME/answer.md"`],
    ["a pipe that nobody writes to", () => 'mkfifo "$HOME/answer.md"'],
    ["a folder", () => 'mkdir "$HOME/answer.md"'],
  ])("is not read if it is %s", async (_, plant) => {
    await notRead(plant());
  });

  // The home's parent in the volume belongs to root.
  it.skipIf(process.getuid?.() !== 0)("is not read if the home is a symlink", async () => {
    await notRead(`cd / && mv /home/agent /home/other && ln -s ${folder} /home/agent`);
  });

  async function notRead(plant: string): Promise<void> {
    const planted = await sh(session, plant);

    const direct = await readDirectly();
    const answer = await session.readFile("answer.md");

    expect(planted.stderr).toBe("");
    expect([direct, answer]).toEqual([undefined, undefined]);
    expect(readdirSync(folder)).toEqual(["answer.md"]);
  }
});
