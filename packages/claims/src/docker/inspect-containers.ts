import { connectEngine, type HostEnvironment } from "@budgie/runner-docker/lab";
import type { ShownContainer } from "../lab/target.ts";

/** Inspects each container of the owners whose state is below a folder. */
export async function inspectContainers(
  { home, hostEnv }: { readonly home: string; readonly hostEnv: HostEnvironment },
  root: string,
): Promise<readonly ShownContainer[]> {
  const { docker } = await connectEngine(hostEnv, home);
  const all = await docker.listContainers({ all: true, filters: { label: ["dev.budgie=1"] } });
  const own = all.filter(({ Labels }) => Labels["dev.budgie.lock"]?.startsWith(root));
  const shown = await Promise.allSettled(own.map(({ Id }) => docker.getContainer(Id).inspect()));
  // Others may have been removed meanwhile.
  return shown.flatMap((found) => {
    if (found.status === "rejected") return [];
    const { Labels } = found.value.Config;
    const session = Labels["dev.budgie.role"] === "turn" ? Labels["dev.budgie.session"] : undefined;
    return [{ session, text: JSON.stringify(found.value) }];
  });
}
