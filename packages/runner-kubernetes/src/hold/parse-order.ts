import { BudgieError } from "@budgie/core";
import { isRecord, parseBoundedJson } from "@budgie/core/bounds";
import type { ProcessOrder } from "../requests/process-order.ts";

/** The most bytes of an order. */
export const MOST_ORDER_BYTES = 2 * 1024 * 1024;

const BOUNDS = { values: 100_000, depth: 5 };
const MOST_PORTS = 64;
const MOST_PIDS = 4_194_304;

/** Returns the order of a turn. Throws `INPUT_INVALID` unless it is one, without its content, which may be secret. */
export function parseOrder(bytes: Buffer): ProcessOrder {
  const { argv, directory, env, isReadOnly, limits, ports, unset } = parseRecord(bytes);
  if (!isStrings(argv) || !isArgv(argv)) throw orderError("arguments");
  if (!isText(directory) || !directory.startsWith("/")) throw orderError("directory");
  if (!isEnv(env)) throw orderError("variables");
  if (!isStrings(unset)) throw orderError("patterns of variables");
  if (!(ports === undefined || isPorts(ports))) throw orderError("ports");
  if (typeof isReadOnly !== "boolean") throw orderError("access");
  return { argv, directory, env, unset, ports, isReadOnly, limits: parseLimits(limits) };
}

function parseRecord(bytes: Buffer): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = parseBoundedJson(bytes, BOUNDS);
  } catch {
    throw orderError("JSON");
  }
  if (!isRecord(value)) throw orderError("JSON");
  return value;
}

function parseLimits(limits: unknown): ProcessOrder["limits"] {
  if (!isRecord(limits)) throw orderError("limits");
  const { diskBytes, pids } = limits;
  if (!isCount(pids) || pids < 1 || pids > MOST_PIDS || !isCount(diskBytes)) throw orderError("limits");
  return { pids, diskBytes };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Returns true for text that can be an argument of a process. */
function isText(value: unknown): value is string {
  return typeof value === "string" && !value.includes("\0");
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}

function isArgv(value: readonly string[]): value is ProcessOrder["argv"] {
  return value[0] !== undefined && value[0] !== "";
}

function isEnv(value: unknown): value is Readonly<Record<string, string>> {
  if (!isRecord(value)) return false;
  return Object.entries(value).every(([name, text]) => isText(text) && isText(name) && /^[^=]+$/.test(name));
}

function isPorts(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length <= MOST_PORTS && value.every((port) => isCount(port) && port < 65_536);
}

function orderError(what: string): BudgieError {
  return new BudgieError(
    "INPUT_INVALID",
    `The order of a process has wrong ${what}. Use the same version of budgie at both ends.`,
  );
}
