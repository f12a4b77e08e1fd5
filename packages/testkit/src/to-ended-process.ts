import { readOwnProcess, type OwnerProcess } from "@budgie/core/owners";

/**
 * Returns the identity of an ended process with this one's pid. Tests use it for owners that end when they release their lock,
 * since with this process in their record they would live as long as the test.
 */
export function toEndedProcess(): OwnerProcess | undefined {
  const own = readOwnProcess();
  return own === undefined ? undefined : { ...own, started: "0" };
}
