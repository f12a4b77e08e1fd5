import { randomUUID } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { findLegacyVolumes } from "../../src/maintenance/find-legacy-volumes.ts";
import { BASE_IMAGE, testEngine } from "../helpers/docker-place.ts";

/** Creates a volume by mounting it, as the original budgie did with each session's first call. */
async function mount(volume: string): Promise<() => Promise<void>> {
  const docker = await testEngine();
  const container = await docker.createContainer({
    Image: BASE_IMAGE,
    Cmd: ["true"],
    HostConfig: { Binds: [`${volume}:/root/.local/share/kiro-cli:rw`] },
  });
  const end = (): Promise<void> => container.remove({ force: true }).catch(() => undefined);
  onTestFinished(async () => {
    await end();
    await docker
      .getVolume(volume)
      .remove()
      .catch(() => undefined);
  });
  return end;
}

it("finds the volumes that the original left, and removes none that a container uses", async () => {
  const docker = await testEngine();
  const [left, used, labelled] = [randomUUID(), randomUUID(), randomUUID()].map((id) => `budgie-session-${id}`) as [
    string,
    string,
    string,
  ];
  await (
    await mount(left)
  )();
  await mount(used);
  await docker.createVolume({ Name: labelled, Labels: { "dev.budgie": "1" } });
  onTestFinished(() => docker.getVolume(labelled).remove());
  const findOurs = async () =>
    (await findLegacyVolumes(docker)).filter(({ item }) => [left, used, labelled].includes(item.name));

  const found = await findOurs();
  await mount(left).then(async (end) => {
    expect(await found[0]?.remove()).toBe("a container uses it");
    await end();
  });

  expect(found.map(({ item }) => item)).toEqual([{ kind: "volume", name: left, session: undefined }]);
  expect(await found[0]?.remove()).toBeUndefined();
  expect(await findOurs()).toEqual([]);
});
