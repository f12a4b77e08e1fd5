import { BudgieError } from "@budgie/core";
import type { EngineWall, Weaker } from "./engine-protections.ts";

/** Throws `RUNNER_UNAVAILABLE` if the engine lacks a wall that is not among the accepted ones. */
export function checkWalls(walls: readonly EngineWall[], accepted: readonly Weaker[]): void {
  const missing = walls.filter((wall) => wall.state === "missing" && !accepted.includes(wall.name));
  if (missing.length === 0) return;
  const names = missing.map(({ name }) => name).join(",");
  throw new BudgieError(
    "RUNNER_UNAVAILABLE",
    `${missing.map(({ text }) => text).join(" ")} To run agents there anyway, start budgie with --accept-weaker ${names}.`,
  );
}
