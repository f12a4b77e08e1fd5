import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { toReason } from "../profile/exit-error.ts";
import { kiroFolder } from "../profile/kiro-folder.ts";
import { parseRules, type Rule } from "./rule.ts";

/** The user's rules for V3. */
export type UserRules = {
  readonly rules: readonly Rule[];
  /** Present if the file is invalid, which then has no rules */
  readonly error?: { readonly path: string; readonly message: string };
};

/** Loads the user's rules, which hold beside each agent's own. */
export async function loadUserRules(): Promise<UserRules> {
  const path = join(kiroFolder(), "settings", "permissions.yaml");
  if (!existsSync(path)) return { rules: [] };
  const { parse } = await import("yaml");
  try {
    return { rules: parseRules(parse(readFileSync(path, "utf8"))) };
  } catch (error) {
    return { rules: [], error: { path, message: toReason(error) } };
  }
}
