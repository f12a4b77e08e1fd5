import { once } from "node:events";
import { connect } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { greet, runSidecar } from "../helpers/run-sidecar.ts";

it("a bridge that breaks in a turn is replaced, and nothing is lost or doubled", async () => {
  await using running = await runSidecar();
  const hold = await running.connectHold();
  greet(hold);
  const budgie = await running.connectBudgie();
  const turn = budgie.startTurn();
  await hold.hear("S");
  hold.say("P");
  const output = Buffer.from(Array.from({ length: 500_000 }, (_, index) => index % 251));
  const read = buffer(turn.input);
  for (let at = 0; at < output.length; at += 50_000) {
    hold.say("O", output.subarray(at, at + 50_000));
    budgie.bridge().destroy();
    await budgie.reconnect();
    turn.output.write(`piece ${at}`);
    expect((await hold.hear("I")).toString()).toBe(`piece ${at}`);
  }
  hold.say("E", [0, 0, 0]);

  expect((await read).equals(output)).toBe(true);
  expect(await turn.last).toMatchObject({ exitCode: 0 });
});

it("another budgie takes over: the running turn is killed, and the one before does not come back", async () => {
  await using running = await runSidecar();
  const hold = await running.connectHold();
  greet(hold);
  const first = await running.connectBudgie();
  const turn = first.startTurn();
  await hold.hear("S");
  hold.say("P");
  const second = await running.connectBudgie();

  expect((await second.ask({ purpose: "control", ask: "hello" })).last).toMatchObject({ ok: true });
  expect((await hold.hear("K")).readUInt32LE()).toBe(9);
  await expect(turn.last).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
  hold.say("E", [-1, 9, 0]);
  const packed = { purpose: "file", act: "pack", volume: "work" } as const;
  await expect.poll(async () => (await second.ask(packed)).last).toEqual({ ok: true });
  const next = second.startTurn();
  await hold.hear("S");
  hold.say("E", [0, 0, 0]);
  expect(await next.last).toMatchObject({ exitCode: 0 });
  await first.reconnect();
  await expect.poll(() => first.bridge().destroyed).toBe(true);
  expect((await second.ask({ purpose: "control", ask: "hello" })).last).toMatchObject({ ok: true });
});

it("without a bridge for 120 seconds the sidecar ends, and the container with it", async () => {
  await using running = await runSidecar();
  const hold = await running.connectHold();
  greet(hold);
  const budgie = await running.connectBudgie();
  await budgie.ask({ purpose: "control", ask: "hello" });
  running.clock.advance(100_000);
  budgie.bridge().destroy();
  const closed = once(hold.socket, "close");
  hold.socket.resume();
  await new Promise((resolve) => setTimeout(resolve, 50));
  running.clock.advance(119_000);
  expect(hold.socket.destroyed).toBe(false);
  running.clock.advance(2_000);

  await running.sidecar.ended;
  await closed;
});

it("connections of the agent reach budgie, each with both of its ends", async () => {
  await using running = await runSidecar();
  const budgie = await running.connectBudgie();
  await budgie.ask({ purpose: "control", ask: "usage" });
  const socket = connect({ port: running.sidecar.egressPort, host: "127.0.0.1", allowHalfOpen: true });
  socket.end("a request");
  const stream = await budgie.nextOpened();

  expect(stream.opening).toEqual({ purpose: "egress" });
  expect(await text(stream.input)).toBe("a request");
  stream.output.write("an answer");
  stream.end();
  expect(await text(socket)).toBe("an answer");
});

it("more than 48 connections wait for their turn", async () => {
  await using running = await runSidecar();
  const budgie = await running.connectBudgie();
  await budgie.ask({ purpose: "control", ask: "usage" });
  const sockets = Array.from({ length: 60 }, () => connect(running.sidecar.egressPort, "127.0.0.1"));
  for (const socket of sockets) socket.on("error", () => undefined).end("x");
  for (let count = 0; count < 60; count += 1) {
    const stream = await budgie.nextOpened();
    expect(await text(stream.input)).toBe("x");
    stream.end();
  }
  for (const socket of sockets) socket.destroy();
});
