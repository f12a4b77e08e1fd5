import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { createSessionId, type Command } from "@budgie/core";
import { createDockerPlace, runCommand, testEngine } from "../helpers/docker-place.ts";
import { createEngineProxy } from "../helpers/engine-proxy.ts";

const place = createDockerPlace();
afterAll(() => place[Symbol.asyncDispose]());

const WRITES = { argv: ["sh", "-c", 'echo kept > "$HOME/note"; ls -ld "$HOME"'], env: {}, projections: [] } as const;

// With this policy the session container runs, so that a home can be filled through it.
const access = { workspace: "rw", egress: { mode: "open", hosts: [] }, limits: {} } as const;

it("holds nothing of any program but what a command brings, and its parents are the agent's own", async () => {
  const { runner } = await place.createRunner();
  const session = await runner.openSession(createSessionId());
  const source = join(place.workspace, "rules.md");
  writeFileSync(source, "the rules");
  const list = (script: string, command: Partial<Command>) =>
    runCommand(
      session,
      { argv: ["sh", "-c", script], env: {}, projections: [], ...command },
      { directory: place.workspace },
    );
  const FIND = 'cd "$HOME" && find . -mindepth 1 | sort';

  const bare = await list(FIND, {});
  const brought = await list(`${FIND}; cat tool/rules.md; touch tool/mine && ls tool; touch tool/agents/x`, {
    projections: [{ source, home: "tool/rules.md" }],
    hidden: { "~/tool/agents": "empty folder" },
  });

  expect(bare.stdout).toBe("");
  expect(brought.stdout).toBe("./tool\n./tool/agents\n./tool/rules.md\nthe rulesagents\nmine\nrules.md\n");
  expect(brought.stderr).toMatch(/agents\/x.*Read-only file system/);
  await runner.close();
});

it("fills a new home through its container's process, without the engine, as the sandbox's user", async () => {
  await using proxy = await createEngineProxy();
  const { runner } = await place.createRunner({ hostEnv: proxy.hostEnv });
  const session = await runner.openSession(createSessionId());
  const home = [{ path: ".tool/settings", content: "of the tool" }];
  const argv = [
    "sh",
    "-c",
    'cat "$HOME/.tool/settings"; echo kept > "$HOME/.tool/note"; ls -ldn "$HOME" "$HOME/.tool"',
  ] as const;

  const { exit, stdout } = await runCommand(session, { ...WRITES, argv, home }, { directory: place.workspace, access });

  expect(exit.exitCode).toBe(0);
  const [uid, gid] = [process.geteuid?.(), process.getegid?.()];
  expect(stdout).toMatch(new RegExp(`^of the tool(drwx------ \\d+ ${uid} ${gid} .*\n){2}$`));
  expect(proxy.requestLines().filter((line) => line.startsWith("PUT "))).toEqual([]);
  expect(await session.readFile(".tool/note")).toBe("kept\n");
  await runner.close();
});

it("takes a new home for used once the first of two commands that start at once may run in it", async () => {
  await using proxy = await createEngineProxy();
  const { runner } = await place.createRunner({ hostEnv: proxy.hostEnv });
  const session = await runner.openSession(createSessionId());
  const show = (name: string) =>
    runCommand(
      session,
      {
        argv: ["sh", "-c", `cat "$HOME/.tool/${name}"`],
        env: {},
        projections: [],
        home: [{ path: `.tool/${name}`, content: name }],
      },
      { directory: place.workspace, access },
    );

  const shown = await Promise.all([show("one"), show("two")]);

  expect(shown.map(({ stdout }) => stdout)).toEqual(["one", "two"]);
  // Into a used home, the engine unpacks files, after a check for symlinks.
  expect(proxy.requestLines().filter((line) => line.startsWith("PUT ")).length).toBe(1);
  await runner.close();
});

it("fills the home of a session without a network through a copy of its container, which does not run, and leaves nothing else behind", async () => {
  await using proxy = await createEngineProxy();
  const { runner } = await place.createRunner({ hostEnv: proxy.hostEnv });
  // The first session container of a runner is started, so that budgie can try a look into it.
  await runCommand(await runner.openSession(createSessionId()), WRITES, { directory: place.workspace });
  const before = proxy.requestLines().length;
  const session = await runner.openSession(createSessionId());

  const { exit, stdout } = await runCommand(session, WRITES, { directory: place.workspace });

  expect([exit.exitCode, stdout]).toEqual([0, expect.stringMatching(/^drwx------/)]);
  const puts = proxy
    .requestLines()
    .slice(before)
    .filter((line) => line.startsWith("PUT "));
  expect(puts.length).toBeGreaterThan(0);
  expect(puts.filter((line) => line.includes(`budgie-session-${session.id}/`))).toEqual([]);
  const filters = { label: [`dev.budgie.session=${session.id}`, "dev.budgie.role=session"] };
  const left = await (await testEngine()).listContainers({ all: true, filters });
  expect(left.map(({ Names }) => Names)).toEqual([[`/budgie-session-${session.id}`]]);
  expect(await session.readFile("note")).toBe("kept\n");
  await runner.close();
});

it("fills the home of a session that was made ahead without its container's network too", async () => {
  await using proxy = await createEngineProxy();
  const { runner } = await place.createRunner({ hostEnv: proxy.hostEnv, ahead: 4 });
  runner.ahead?.prepare();
  await expect.poll(() => runner.ahead?.count().sessions).toBe(1);
  const session = await runner.openSession((await runner.ahead?.take()) ?? createSessionId());
  const before = proxy.requestLines().length;

  const { exit } = await runCommand(session, WRITES, { directory: place.workspace });

  const calls = proxy.requestLines().slice(before);
  expect(exit.exitCode).toBe(0);
  expect(calls.filter((line) => line.startsWith("PUT ") || line.includes("-copy-"))).toEqual([]);
  expect(await session.readFile("note")).toBe("kept\n");
  await runner.close();
});
