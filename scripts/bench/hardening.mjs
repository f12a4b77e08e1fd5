// Compares sandboxed turns with the same turns in containers without hardening. Both sides are the same budgie behind the same
// rewriting proxy; one proxy removes the hardening from the requests to create containers.
import { SANDBOX, withPlace } from "./lib/bench-place.mjs";
import { interleave, median } from "./lib/interleave.mjs";
import { openRewritingProxy } from "./lib/rewriting-proxy.mjs";
import { toCaption, toTable } from "./lib/table.mjs";

const LIMIT = 1.1;
// Each kind of turn and its baseline.
const TURNS = new Map([
  ["hardened, first turn", "plain, first turn"],
  ["hardened, follow-up turn", "plain, follow-up turn"],
]);

/** Measures, prints, and tells whether both kinds of turn are within the limit. */
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
    return report(rounds, place.engine, await interleave(cases, rounds));
  });

async function startBehind({ engine, atEnd, startServer }, rewrite) {
  const proxy = await openRewritingProxy(engine, rewrite);
  atEnd(() => proxy.close());
  return startServer(SANDBOX, proxy.url);
}

// The user is kept, because it costs nothing and decides who owns the files. The engine's own defaults are kept as well.
const HARDENING = "CapDrop SecurityOpt ReadonlyRootfs PidsLimit Memory MemorySwap NanoCpus Tmpfs Ulimits".split(" ");

function withoutHardening({ HostConfig, ...body }) {
  const rest = Object.entries(HostConfig).filter(([key]) => !HARDENING.includes(key));
  const mounts = HostConfig.Mounts.filter(({ Type }) => Type !== "tmpfs").map((mount) => ({
    ...mount,
    ReadOnly: false,
  }));
  return { ...body, HostConfig: { ...Object.fromEntries(rest), Mounts: mounts } };
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

function report(rounds, engine, times) {
  console.log(toCaption(rounds, engine));
  console.log(toTable(times, "x plain", (title) => TURNS.get(title) ?? title));
  const ratios = [...TURNS].map(([title, base]) => median(times.get(title)) / median(times.get(base)));
  const kept = ratios.every((ratio) => ratio <= LIMIT);
  console.log(kept ? "\nWithin the limit." : `\nOver the limit: ${LIMIT} x the same turn without hardening.`);
  return kept;
}
