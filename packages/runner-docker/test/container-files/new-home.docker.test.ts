import { afterAll, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { createDockerPlace, runCommand, testEngine } from "../helpers/docker-place.ts";
import { createEngineProxy } from "../helpers/engine-proxy.ts";

const place = createDockerPlace();
afterAll(() => place[Symbol.asyncDispose]());

const WRITES = { argv: ["sh", "-c", 'echo kept > "$HOME/note"; ls -ld "$HOME"'], env: {}, projections: [] } as const;

it("fills a new home through a copy of the session container, which blocks archive calls while it starts, and leaves nothing else behind", async () => {
  await using proxy = await createEngineProxy();
  const { runner } = await place.createRunner({ hostEnv: proxy.hostEnv });
  const session = await runner.openSession(createSessionId());
  const access = { workspace: "rw", egress: { mode: "open", hosts: [] }, limits: {} } as const;

  const { exit, stdout } = await runCommand(session, WRITES, { directory: place.workspace, access });

  expect([exit.exitCode, stdout]).toEqual([0, expect.stringMatching(/^drwx------/)]);
  const puts = proxy.requestLines().filter((line) => line.startsWith("PUT "));
  expect(puts.length).toBeGreaterThan(0);
  expect(puts.filter((line) => line.includes(`budgie-session-${session.id}/`))).toEqual([]);
  // The session container, which the first look starts, and the turn.
  const starts = proxy.requestLines().filter((line) => line.endsWith("/start HTTP/1.1"));
  expect(new Set(starts).size).toBe(2);
  const filters = { label: [`dev.budgie.session=${session.id}`, "dev.budgie.role=session"] };
  const left = await (await testEngine()).listContainers({ all: true, filters });
  expect(left.map(({ Names, State }) => [Names, State])).toEqual([[[`/budgie-session-${session.id}`], "running"]]);
  expect(await session.readFile("note")).toBe("kept\n");
  await runner.close();
});
