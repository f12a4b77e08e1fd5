// Compares sandboxed turns with the same turns in containers without hardening. Both sides are the same budgie behind the same
// rewriting proxy; one proxy removes the hardening from the requests to create containers.
import { SANDBOX, withPlace } from "./lib/bench-place.mjs";
import { interleave } from "./lib/interleave.mjs";
import { openRewritingProxy } from "./lib/rewriting-proxy.mjs";
import { findOver, toRows } from "./lib/table.mjs";

const LIMIT = 1.1;
// Each kind of turn and its baseline.
const TURNS = new Map([
  ["hardened, first turn", "plain, first turn"],
  ["hardened, follow-up turn", "plain, follow-up turn"],
]);

export const measureHardening = (rounds) =>
  withPlace(async (place) => {
    const hardened = await startBehind(place, (body) => body);
    const plain = await startBehind(place, withoutHardening);
    await checkSides({ hardened, plain });
    const cases = {
      "hardened, first turn": hardened.firstTurn,
      "plain, first turn": plain.firstTurn,
      "hardened, follow-up turn": hardened.followUpTurn,
      "plain, follow-up turn": plain.followUpTurn,
    };
    const rows = toRows(await interleave(cases, rounds), (title) => TURNS.get(title));
    return { rows, over: findOver(rows, Object.fromEntries([...TURNS.keys()].map((title) => [title, LIMIT]))) };
  });

async function startBehind({ engine, atEnd, startServer }, rewrite) {
  const proxy = await openRewritingProxy(engine, rewrite);
  atEnd(() => proxy.close());
  // A container made ahead would hide what its hardening costs.
  return startServer([...SANDBOX, "--ahead", "0"], { dockerHost: proxy.url });
}

// The user is kept, because it costs nothing and decides who owns the files. The engine's own defaults are kept as well.
const HARDENING = "CapDrop SecurityOpt ReadonlyRootfs PidsLimit Memory MemorySwap NanoCpus Tmpfs Ulimits".split(" ");

// Mounts stay as they are, since budgie compares them before the agent begins.
function withoutHardening({ HostConfig, ...body }) {
  const rest = Object.entries(HostConfig).filter(([key]) => !HARDENING.includes(key));
  return { ...body, HostConfig: Object.fromEntries(rest) };
}

const LOOK = `grep -E "^(NoNewPrivs|Seccomp):" /proc/self/status; awk '$2 == "/" { print "root", substr($4, 1, 2) }' /proc/mounts`;

/** Throws unless one side is hardened and the other is not. */
async function checkSides(sides) {
  const expected = { hardened: ["1", "2", "ro"], plain: ["0", "2", "rw"] };
  for (const [name, server] of Object.entries(sides)) {
    const { response } = await server.ask("shell-worker", { prompt: `[[run: ${LOOK}]]` });
    const found = response.match(/(?<=\s)\S+$/gm);
    if (String(found) !== String(expected[name])) throw new Error(`The ${name} side is not as expected: ${response}`);
  }
}
