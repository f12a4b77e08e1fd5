// Lists a first and a follow-up turn's calls to the engine, as a proxy in front of the engine sees them: when each began, how long it took
// until its last byte, and how many others were under way when it began. "all" does not include it.
import { setTimeout as sleep } from "node:timers/promises";
import { SANDBOX, withPlace } from "./lib/bench-place.mjs";
import { openEngineProxy } from "./lib/engine-proxy.mjs";

const REQUEST = /^(GET|HEAD|POST|PUT|DELETE) (\S+) HTTP\/1\.1\r\n/;
// Calls after the answer, such as the removal of a turn's container
const AFTER_MS = 1500;

export const traceTurns = () =>
  withPlace(async (place) => {
    const calls = [];
    const proxy = await openEngineProxy(place.engine, (client, engine) => watch(calls, client, engine));
    place.atEnd(() => proxy.close());
    const server = await place.startServer(SANDBOX, { dockerHost: proxy.url });
    // The server's first turn also loads modules.
    await server.firstTurn();
    for (const [title, turn] of Object.entries({
      "first turn": server.firstTurn,
      "follow-up turn": server.followUpTurn,
    })) {
      await sleep(AFTER_MS);
      calls.length = 0;
      const began = performance.now();
      await turn();
      const answered = performance.now();
      await sleep(AFTER_MS);
      console.log(
        `\n${title}: answered after ${Math.round(answered - began)} ms\n${toText(calls, { began, answered })}`,
      );
    }
  });

/** Records the requests of one connection, each of which starts with a new chunk. */
function watch(calls, client, engine) {
  let call;
  client.on("data", (chunk) => {
    const [, method, url] = REQUEST.exec(chunk.toString("latin1", 0, 4096)) ?? [];
    if (method !== undefined) calls.push((call = { method, path: toShape(url), began: performance.now() }));
    engine.write(chunk);
  });
  engine.on("data", (chunk) => {
    if (call !== undefined) call.ended = performance.now();
    client.write(chunk);
  });
}

/** Returns a path with `*` for ids and names, and the names of its parameters. */
function toShape(url) {
  const { pathname, searchParams } = new URL(url, "http://engine");
  const path = pathname
    .replace(/^\/v[\d.]+/, "")
    .replace(/(?<=^\/(?:containers|volumes|images|networks|exec)\/)(?!(?:json|create|prune)$)[^/]+/, "*");
  const names = [...searchParams.keys()];
  return names.length === 0 ? path : `${path}?${names.join("&")}`;
}

function toText(calls, { answered, began }) {
  const lines = calls.map((call) => {
    const under = calls.filter((other) => other.began < call.began && (other.ended ?? Infinity) > call.began).length;
    const [at, took] = [call.began - began, (call.ended ?? NaN) - call.began].map((ms) => ms.toFixed(1).padStart(7));
    const late = call.began > answered ? "  after the answer" : "";
    return `${at}  ${took}  ${String(under).padStart(6)}  ${call.method.padEnd(6)} ${call.path}${late}`;
  });
  return ["  at ms     took  beside  call", ...lines].join("\n");
}
