import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { greet, runSidecar, type RunningSidecar } from "../helpers/run-sidecar.ts";

async function begin(running: RunningSidecar) {
  const hold = await running.connectHold();
  greet(hold);
  return { hold, budgie: await running.connectBudgie() };
}

it("budgie hears what hold says of the machine", async () => {
  await using running = await runSidecar();
  const { budgie } = await begin(running);

  expect((await budgie.ask({ purpose: "control", ask: "kernel" })).last).toEqual({
    ok: true,
    landlock: 5,
    ports: [32_768, 60_999],
  });
});

it("the sidecar answers, and tries its network, before the agent's container runs", async () => {
  await using running = await runSidecar();
  const { roots } = running;
  const write = (script: string): void => writeFileSync(join(roots.image, "hold"), `#!/bin/sh\n${script}`);
  write('echo "$@"');
  chmodSync(join(roots.image, "hold"), 0o755);
  const budgie = await running.connectBudgie();

  expect((await budgie.ask({ purpose: "control", ask: "hello" })).last).toMatchObject({
    ok: true,
    areFoldersOwn: true,
  });
  const probe = { purpose: "control", ask: "probe" } as const;
  const { bytes, last } = await budgie.ask(probe, Buffer.from('["tcp:192.0.2.1:1"]'));
  expect(last).toEqual({ ok: true });
  expect(bytes.toString()).toMatch(/^probe tcp:192\.0\.2\.1:1\n/);
  write("exit 1");
  expect((await budgie.ask(probe, Buffer.from("[]"))).last).toMatchObject({ error: { code: "RUNNER_UNAVAILABLE" } });
  expect((await budgie.ask(probe, Buffer.from('"a"'))).last).toMatchObject({ error: { code: "INPUT_INVALID" } });
});

it("a turn starts what its order says, and carries stdin, stdout, stderr and the end", async () => {
  await using running = await runSidecar();
  const { budgie, hold } = await begin(running);
  const turn = budgie.startTurn();
  turn.output.write("the prompt");
  turn.end();

  const start = await hold.hear("S");
  expect([0, 4, 8, 12, 16, 20, 24].map((at) => start.readUInt32LE(at))).toEqual([2, 1, 1, 1, 64, 0, 3128]);
  expect(start.toString("utf8", 28).split("\0")).toEqual([
    "/workspace",
    "agent",
    "--go",
    "TOKEN=secret",
    "KUBERNETES_*",
    "",
  ]);
  hold.say("P");
  const stderr = await budgie.nextOpened();
  expect((await hold.hear("I")).toString()).toBe("the prompt");
  expect(await hold.hear("I")).toHaveLength(0);
  hold.say("R", Buffer.from("a warning"));
  hold.say("O", Buffer.from("an answer"));
  hold.say("E", [-1, 15, 2]);

  expect(await text(turn.input)).toBe("an answer");
  expect(await text(stderr.input)).toBe("a warning");
  expect(await turn.last).toEqual({ exitCode: null, signal: "SIGTERM", oomKills: 2, isDiskFull: false });
});

it("scratch folders are empty after a turn, and hidden paths are back", async () => {
  await using running = await runSidecar();
  const { budgie, hold } = await begin(running);
  const { roots } = running;
  mkdirSync(join(roots.tree, ".kiro/agents"), { recursive: true });
  writeFileSync(join(roots.tree, ".kiro/agents/one.json"), "original");
  const hidden = Buffer.from(JSON.stringify([{ path: ".kiro/agents", content: { files: { note: "nothing" } } }]));
  expect((await budgie.ask({ purpose: "control", ask: "hide" }, hidden)).last).toEqual({ ok: true });
  expect(readdirSync(join(roots.tree, ".kiro/agents"))).toEqual(["note"]);
  const turn = budgie.startTurn();
  await hold.hear("S");
  hold.say("P");
  writeFileSync(join(roots.scratch[0], "left"), "");
  writeFileSync(join(roots.tree, ".kiro/agents/own.json"), "planted");
  hold.say("E", [0, 0, 0]);

  expect(await turn.last).toMatchObject({ exitCode: 0 });
  expect(readdirSync(join(roots.tree, ".kiro/agents"))).toEqual(["one.json"]);
  expect([...roots.scratch, roots.hidden].flatMap((folder) => readdirSync(folder))).toEqual([]);
});

it("a second turn is refused while one runs, and runs after it", async () => {
  await using running = await runSidecar();
  const { budgie, hold } = await begin(running);
  const first = budgie.startTurn();
  await hold.hear("S");

  const refused = budgie.startTurn();
  expect(await refused.last).toMatchObject({ error: { code: "RUNNER_UNAVAILABLE", isBusy: true } });
  hold.say("E", [0, 0, 0]);
  expect(await first.last).toMatchObject({ exitCode: 0 });
  const second = budgie.startTurn();
  await hold.hear("S");
  hold.say("E", [1, 0, 0]);
  expect(await second.last).toMatchObject({ exitCode: 1 });
});

it("stop sends a signal, and a stream that is reset sends the last one", async () => {
  await using running = await runSidecar();
  const { budgie, hold } = await begin(running);
  const turn = budgie.startTurn();
  await hold.hear("S");
  hold.say("P");

  expect((await budgie.ask({ purpose: "control", ask: "stop", signal: "TERM" })).last).toEqual({ ok: true });
  expect((await hold.hear("K")).readUInt32LE()).toBe(15);
  turn.input.destroy();
  expect((await hold.hear("K")).readUInt32LE()).toBe(9);
});

it("a home above its limit ends the turn", async () => {
  await using running = await runSidecar();
  const { budgie, hold } = await begin(running);
  writeFileSync(join(running.roots.home, "large"), Buffer.alloc(300_000, 1));
  const turn = budgie.startTurn({ limits: { pids: 1, diskBytes: 100_000 } });

  expect((await hold.hear("K")).readUInt32LE()).toBe(9);
  hold.say("E", [-1, 9, 0]);
  expect(await turn.last).toMatchObject({ signal: "SIGKILL", isDiskFull: true });
});

it("a container that ends fails its turn, and leaves only the files", async () => {
  await using running = await runSidecar();
  const { budgie, hold } = await begin(running);
  const turn = budgie.startTurn();
  await hold.hear("S");
  hold.socket.destroy();

  expect(await turn.last).toMatchObject({ error: { code: "AGENT_CRASHED" } });
  expect(await budgie.startTurn().last).toMatchObject({ error: { code: "SESSION_UNUSABLE" } });
  for (const request of [{ ask: "kernel" }, { ask: "stop", signal: "KILL" }, { ask: "kinds" }] as const)
    expect((await budgie.ask({ purpose: "control", ...request })).last).toMatchObject({
      error: { code: "SESSION_UNUSABLE" },
    });
  expect((await budgie.ask({ purpose: "control", ask: "usage" })).last).toMatchObject({ ok: true });
  await expect(running.connectHold()).rejects.toThrow();
});

it("stdin goes no further ahead of hold than its window, and output waits for its reader", async () => {
  await using running = await runSidecar();
  const { budgie, hold } = await begin(running);
  const turn = budgie.startTurn();
  await hold.hear("S");
  hold.say("P");
  const stdin = Buffer.alloc(600_000, "stdin");
  turn.output.write(stdin);
  turn.end();
  let taken = 0;
  for (let ahead = 0; taken < stdin.length;) {
    const { length } = await hold.hear("I");
    taken += length;
    ahead += length;
    expect(ahead).toBeLessThanOrEqual(256 * 1024);
    if (ahead < 256 * 1024 && taken < stdin.length) continue;
    hold.say("U", [ahead]);
    ahead = 0;
  }
  const pieces = 100;
  for (let count = 0; count < pieces; count += 1) hold.say("O", Buffer.alloc(65_536, 1));
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(hold.socket.writableLength).toBeGreaterThan(0);
  hold.say("E", [0, 0, 0]);

  expect((await buffer(turn.input)).length).toBe(pieces * 65_536);
  expect(existsSync(running.roots.home)).toBe(true);
});
