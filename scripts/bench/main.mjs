// node scripts/bench/main.mjs [CASE] [ROUNDS]: measures one case, and exits with 1 if it is over its limit.
import { measureAcp } from "./acp.mjs";
import { measureEgress } from "./egress.mjs";
import { measureHardening } from "./hardening.mjs";
import { measureStartup } from "./startup.mjs";
import { measureTurns } from "./turns.mjs";

const CASES = {
  turns: measureTurns,
  hardening: measureHardening,
  egress: measureEgress,
  startup: measureStartup,
  acp: measureAcp,
};
const ROUNDS = 20;

const args = process.argv.slice(2);
const name = Object.hasOwn(CASES, args[0]) ? args.shift() : "turns";
const rounds = Number(args[0] ?? ROUNDS);
if (args.length > 1 || !(rounds >= 1)) {
  console.error(`Expected one of ${Object.keys(CASES).join(", ")} and a number of rounds, got "${args.join(" ")}".`);
  process.exit(2);
}
const kept = await CASES[name](rounds);
process.exitCode = kept ? 0 : 1;
