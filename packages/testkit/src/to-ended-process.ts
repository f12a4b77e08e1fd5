import { readOwnProcess, type OwnerProcess } from "@budgie/core";

/**
 * Names a process that had this one's number before it. For owners that live as long as they hold their lock: with this process
 * in their record, they would live as long as the test.
 */
export function toEndedProcess(): OwnerProcess | undefined {
  const own = readOwnProcess();
  return own === undefined ? undefined : { ...own, started: "0" };
}
