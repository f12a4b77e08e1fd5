import type Docker from "dockerode";
import { isSessionId, type Owner, type HomeRecord } from "@budgie/core";
import { timeLimit } from "../engine/with-timeout.ts";
import { OURS, parseLabels } from "../engine/to-labels.ts";

/** Lists the sessions whose homes are volumes of an engine. */
export async function listSessions(docker: Docker, owner: Owner): Promise<readonly HomeRecord[]> {
  const { Volumes } = await docker.listVolumes({ filters: OURS, ...timeLimit() });
  const homes = Volumes.map((volume) => ({ name: volume.Name, facts: parseLabels(volume.Labels) })).filter(
    ({ facts }) => facts.role === "home",
  );
  const records = homes.map(async ({ facts, name }): Promise<HomeRecord | undefined> => {
    if (!isSessionId(facts.session)) return undefined;
    return { id: facts.session, created: facts.created, home: name, owner: await owner.stateOf(facts.owner) };
  });
  return (await Promise.all(records)).filter((record) => record !== undefined);
}
