import { setTimeout as sleep } from "node:timers/promises";
import type { ContainerCreateOptions } from "dockerode";
import { afterAll, expect, it } from "vitest";
import { createSessionId, type RunnerSession } from "@budgie/core";
import { createDockerPlace, run, testEngine } from "../helpers/docker-place.ts";
import { createHttpEngineProxy } from "../helpers/http-engine-proxy.ts";
import { runWith } from "../proxy/egress-place.ts";

const place = createDockerPlace();
afterAll(() => place[Symbol.asyncDispose]());

it.each([
  ["pruned", () => undefined],
  ["replaced by the engine, for a container that began meanwhile", recreateVolumes],
])("a session ends if its volumes were %s: no new home is silently used", async (_, replace) => {
  const { runner } = await place.createRunner();
  const session = await runner.openSession(createSessionId());
  await replace(await removeAll(session));

  await expect(run(session, place.workspace, "true")).rejects.toMatchObject({
    code: "SESSION_UNUSABLE",
    message: expect.stringMatching(/removed.*Begin a new session/),
  });
  await session.remove();
  expect(await listVolumes(session)).toEqual([]);
});

it("the volumes of a session are removed only once no container is being created with them", async () => {
  let [asked, answered] = [0, 0];
  const meanwhile: string[] = [];
  const isCreation = (url: string): boolean => url.includes("/containers/create?name=budgie-session-");
  await using proxy = await createHttpEngineProxy({
    async toRequest(request) {
      const { method, url } = request;
      if (method === "DELETE" && url.includes("/volumes/") && asked > answered) meanwhile.push(url);
      // The first is the session's, the second finds its volumes gone, and the third is to lend the turn its network.
      if (isCreation(url) && (asked += 1) === 3) await sleep(HELD_MS);
      return request;
    },
    toAnswer(url, answer) {
      if (isCreation(url)) answered += 1;
      return answer;
    },
  });
  const { runner } = await place.createRunner({ hostEnv: proxy.hostEnv });
  const session = await runner.openSession(createSessionId());
  await removeAll(session);
  const policy = { mode: "allowlist", hosts: [] } as const;
  const turn = runWith(session, place.workspace, { policy, script: "true" });
  await expect(turn).rejects.toMatchObject({ code: "SESSION_UNUSABLE" });

  await session.remove();

  expect({ asked, meanwhile }).toEqual({ asked: 3, meanwhile: [] });
  expect(await listVolumes(session)).toEqual([]);
  await runner.close();
});

/** Time in which a session would be removed. */
const HELD_MS = 500;

/** Removes a session's container and volumes behind budgie's back, and returns what makes a container with the same mounts. */
async function removeAll({ id }: RunnerSession): Promise<ContainerCreateOptions> {
  const docker = await testEngine();
  const container = docker.getContainer(`budgie-session-${id}`);
  const { Image, HostConfig } = await container.inspect();
  await container.remove();
  for (const name of ["", "-auth"]) await docker.getVolume(`budgie-session-${id}${name}`).remove();
  return { Image, HostConfig: { Mounts: HostConfig.Mounts } };
}

async function listVolumes({ id }: RunnerSession): Promise<readonly string[]> {
  const { Volumes } = await (await testEngine()).listVolumes();
  return Volumes.map(({ Name }) => Name).filter((name) => name.includes(id));
}

async function recreateVolumes(body: ContainerCreateOptions): Promise<void> {
  const made = await (await testEngine()).createContainer(body);
  await made.remove();
}
