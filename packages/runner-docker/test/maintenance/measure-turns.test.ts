import { expect, it } from "vitest";
import { connectEngine } from "../../src/engine/engine.ts";
import { measureTurns } from "../../src/maintenance/measure-turns.ts";
import { createFakeEngine } from "../helpers/fake-engine.ts";

const cpu_stats = { cpu_usage: { total_usage: 1_234_567_890 } };

function turn(session: string) {
  return { Id: `turn-${session}`, Labels: { "dev.budgie.session": session, "dev.budgie.role": "turn" } };
}

function beside(session: string, role: string, name: string) {
  const Labels = { "dev.budgie.session": session, "dev.budgie.role": role };
  return { Id: `${role}-${name}`, Labels, Names: [`/budgie-session-${session}-${name}`] };
}

it("measures the services of a session beside its turn, by their names, and no other container of it", async () => {
  const body = [
    turn("v2"),
    beside("v2", "service", "db"),
    beside("v2", "session", "x"),
    beside("other", "service", "y"),
  ];
  await using engine = await createFakeEngine({
    "GET /version": { ApiVersion: "1.41" },
    "GET /info": {},
    "GET /containers/json": [{ status: 200, body }],
    "GET /containers/turn-v2/stats": { cpu_stats, memory_stats: { usage: 1000 } },
    "GET /containers/service-db/stats": { cpu_stats, memory_stats: { usage: 2000 } },
  });
  const { docker } = await connectEngine(engine.hostEnv, "/nowhere");

  expect((await measureTurns(docker, ["v2"])).get("v2")).toEqual({
    container: "turn-v2",
    cpuMs: 1235,
    memoryBytes: 1000,
    services: [{ name: "db", cpuMs: 1235, memoryBytes: 2000 }],
  });
  expect(engine.requests.filter((request) => /session-x|service-y/.test(request))).toEqual([]);
});

it("measures the running turns of these sessions, without files that the kernel can drop", async () => {
  await using engine = await createFakeEngine({
    "GET /version": { ApiVersion: "1.41" },
    "GET /info": {},
    "GET /containers/json": [{ status: 200, body: ["v2", "v1", "ended", "other"].map(turn) }],
    "GET /containers/turn-v2/stats": { cpu_stats, memory_stats: { usage: 1000, stats: { inactive_file: 300 } } },
    "GET /containers/turn-v1/stats": { cpu_stats, memory_stats: { usage: 1000, stats: { total_inactive_file: 400 } } },
  });
  const { docker } = await connectEngine(engine.hostEnv, "/nowhere");

  expect(await measureTurns(docker, ["v2", "v1", "ended", "idle"])).toEqual(
    new Map([
      ["v2", { container: "turn-v2", cpuMs: 1235, memoryBytes: 700 }],
      ["v1", { container: "turn-v1", cpuMs: 1235, memoryBytes: 600 }],
      ["ended", { container: "turn-ended", cpuMs: undefined, memoryBytes: undefined }],
    ]),
  );
  expect(engine.requests.filter((request) => request.includes("turn-other"))).toEqual([]);
});
