import { BudgieError, type Command } from "@budgie/core";
import type { Login, LoginNeed } from "./login.ts";

/** Finds how much of the runner's login a command needs. Throws `LOGIN_REQUIRED` for a login that the runner was not given. */
export function findLoginNeed({ env, isShortLogin, login: name }: Command, login: Login | undefined): LoginNeed {
  if (name === undefined) return "none";
  if (login?.name === name) {
    const need = login.toNeed(env);
    return need === "required" && isShortLogin === true ? "short" : need;
  }
  throw new BudgieError(
    "LOGIN_REQUIRED",
    `The command needs the login ${JSON.stringify(name)}, which this runner was not given. Give it as the option "login".`,
  );
}
