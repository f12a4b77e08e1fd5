import { dirname, join } from "node:path";
import type { CreateBody } from "../helpers/rewriting-engine.ts";

/** Shows a turn the made-up home and what is beside it, where the host has them, and its keys where a relative link of the workspace leads. */
export function showHome(body: CreateBody): void {
  const home = toHome(body);
  const root = dirname(home);
  body.HostConfig.Mounts?.push(
    { Type: "bind", Source: root, Target: root },
    { Type: "bind", Source: join(home, ".ssh"), Target: "/.ssh" },
  );
}

/** The made-up home of a turn: its steering files are shown to every turn. */
export function toHome({ HostConfig }: CreateBody): string {
  const steering = HostConfig.Mounts?.find(({ Target }) => Target.endsWith("/.kiro/steering"));
  if (steering === undefined) throw new Error("A turn of the lab shows its home's steering files.");
  return join(steering.Source, "../..");
}
