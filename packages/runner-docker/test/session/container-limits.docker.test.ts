import { setTimeout as sleep } from "node:timers/promises";
import type { ContainerInspectInfo } from "dockerode";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { createDockerPlace, testEngine } from "../helpers/docker-place.ts";
import type { TestImage } from "../image/build-image.ts";
import { buildNodeImage, runWith } from "../proxy/egress-place.ts";

const place = createDockerPlace();
let image: TestImage;
beforeAll(async () => void (image = await buildNodeImage()));
afterAll(async () => {
  try {
    await place[Symbol.asyncDispose]();
  } finally {
    await image[Symbol.asyncDispose]();
  }
});

it("The containers of a turn, its session and the proxy have budgie's seccomp profile, and a turn leaves a processor to others", async () => {
  const docker = await testEngine();
  const { NCPU } = (await docker.info()) as { readonly NCPU: number };
  const { owner, runner } = await place.createRunner({ proxyPlacement: "container", image: image.name });
  const session = await runner.openSession(createSessionId());
  const policy = { mode: "allowlist", hosts: [] } as const;
  const turn = runWith(session, place.workspace, { policy, script: "sleep 5" });
  const filters = { label: [`dev.budgie.instance=${owner.record.instance}`] };
  const end = performance.now() + 30_000;
  let shown: readonly ContainerInspectInfo[] = [];
  while (shown.length < 3 && performance.now() < end) {
    await sleep(100);
    const listed = await docker.listContainers({ filters });
    shown = await Promise.all(listed.map(({ Id }) => docker.getContainer(Id).inspect()));
  }

  const profiles = shown.map(({ HostConfig: { SecurityOpt } }) =>
    (SecurityOpt as readonly string[]).find((option) => option.startsWith("seccomp=")),
  );
  const ofTurn = shown.find(({ Config }) => Config.Labels["dev.budgie.role"] === "turn");
  expect(profiles).toEqual(Array(3).fill(expect.stringMatching(/^seccomp=(?!unconfined)/)));
  expect(ofTurn?.HostConfig.NanoCpus).toBe(Math.min(4, Math.max(1, NCPU - 1)) * 1e9);
  await turn;
});
