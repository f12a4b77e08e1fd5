import { dirname, join } from "node:path";
import type { CreateBody } from "../helpers/rewriting-engine.ts";

/** Mounts the fake home and its siblings at their host paths, and its keys at the target of the workspace's relative symlinks. */
export function showHome(body: CreateBody): void {
  const home = toHome(body);
  const root = dirname(home);
  body.HostConfig.Mounts?.push(
    { Type: "bind", Source: root, Target: root },
    { Type: "bind", Source: join(home, ".ssh"), Target: "/.ssh" },
  );
}

/** Returns the path of a turn's fake home, whose steering files are mounted in every turn. */
export function toHome({ HostConfig }: CreateBody): string {
  const steering = HostConfig.Mounts?.find(({ Target }) => Target.endsWith("/.kiro/steering"));
  if (steering === undefined) throw new Error("A turn of the lab must mount its home's steering files.");
  return join(steering.Source, "../..");
}
