import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { findProcesses } from "../../../runner-docker/test/turn/find-processes.ts";
import { TEST_IMAGE, waitFor } from "../helpers/start-budgie.ts";
import type { Fault } from "./fault.ts";
import type { FaultPlace } from "./helpers/fault-place.ts";
import { takeName } from "./helpers/take-name.ts";

const run = promisify(execFile);

/** Faults of the engine and of objects on it. */
export const ENGINE_FAULTS: readonly Fault[] = [
  {
    name: "somebody removes the turn's container",
    on: "engine",
    args: ["--retry", "always"],
    async inject({ callAtWork, findTurns }) {
      const { told, word } = await callAtWork({ first: "[[sleep 2000]]" });
      for (const turn of await findTurns()) await turn.remove({ force: true });
      // Only the first attempt's is removed, and the second attempt answers.
      expect((await told).text).toContain(word);
    },
  },
  {
    name: "somebody pauses the turn's container",
    on: "engine",
    args: ["--retry", "never"],
    async inject({ callAtWork, findTurns }) {
      const { told } = await callAtWork({ input: { timeout: "4s" } });
      for (const turn of await findTurns()) await turn.pause();
      expect(await told).toMatchObject({ end: "refused", code: "TIMED_OUT" });
    },
  },
  {
    name: "somebody removes the session's container during a turn",
    on: "engine",
    async inject({ callAtWork, docker, user }) {
      const { told, word } = await callAtWork({ first: "[[sleep 1500]]" });
      const containers = await docker.listContainers({ all: true, filters: { label: ["dev.budgie.role=session"] } });
      for (const { Id, Labels } of containers) {
        if (Labels["dev.budgie.lock"]?.startsWith(user.host.home))
          await docker.getContainer(Id).remove({ force: true });
      }
      const { code, end, text } = await told;
      expect(end === "answered" ? text.includes(word) : code).toBeTruthy();
    },
  },
  {
    name: "another program takes the session container's name",
    on: "engine",
    async inject({ call, docker }) {
      const { facts } = await call().told;
      const name = `budgie-session-${String(facts["sessionId"])}`;
      const taken = await waitFor(() => takeName(docker, name));
      const again = () => call({ input: { sessionId: facts["sessionId"] } }).told;
      try {
        expect(await again()).toMatchObject({ end: "refused", code: "RUNNER_UNAVAILABLE" });
        const { State } = await taken.inspect();
        // Only the other program may start its container.
        expect(State.StartedAt).toBe("0001-01-01T00:00:00Z");
      } finally {
        await taken.remove();
      }
      expect((await again()).end).toBe("answered");
    },
  },
  {
    name: "somebody removes the session's volumes between two turns",
    on: "engine",
    async inject(place) {
      const { facts } = await place.call().told;
      await waitFor(() => removeAll(place));
      const { told } = place.call({ input: { sessionId: facts["sessionId"] } });
      expect(await told).toMatchObject({ end: "refused", code: "SESSION_UNUSABLE" });
    },
  },
  {
    name: "the engine is killed and restarted during a turn",
    on: "own engine",
    async inject({ callAtWork, engine }) {
      const { told } = await callAtWork();
      await engine().stop("SIGKILL");
      await engine().start();
      expect((await told).end).toBe("refused");
    },
  },
  {
    name: "the engine is restarted (SIGTERM) during a turn",
    on: "own engine",
    async inject({ callAtWork, engine }) {
      const { told } = await callAtWork();
      await engine().stop("SIGTERM");
      await engine().start();
      expect((await told).end).toBe("refused");
    },
  },
  {
    name: "the engine is down at a call",
    on: "own engine",
    async inject({ call, engine }) {
      await engine().stop("SIGTERM");
      const { told } = call();
      expect(await told).toMatchObject({ end: "refused", code: "RUNNER_UNAVAILABLE" });
      await engine().start();
    },
  },
  {
    name: "the engine hangs at a call",
    on: "own engine",
    async inject({ call, engine }) {
      engine().hang();
      const { told } = call();
      expect(await told).toMatchObject({ end: "refused", code: "RUNNER_UNAVAILABLE" });
      engine().goOn();
    },
  },
  {
    name: "the engine hangs during a turn, until after its timeout",
    on: "own engine",
    args: ["--retry", "never"],
    async inject({ callAtWork, engine }) {
      const { told } = await callAtWork({ input: { timeout: "3s" } });
      engine().hang();
      expect((await told).end).toBe("refused");
      engine().goOn();
    },
  },
  {
    name: "the image is removed",
    on: "own engine",
    async inject({ call, engine }) {
      expect((await call().told).end).toBe("answered");
      for (const image of await engine().docker().listImages()) {
        if (image.RepoTags?.includes(TEST_IMAGE) === true)
          await engine().docker().getImage(image.Id).remove({ force: true });
      }
      expect(await call().told).toMatchObject({ end: "refused", code: "IMAGE_NOT_FOUND" });
      await engine().loadImage();
    },
  },
  {
    name: "the engine's disk is full",
    on: "own engine",
    async inject({ call, engine }) {
      const filler = join(engine().dataRoot, "filler");
      await run("sh", [
        "-c",
        'dd if=/dev/zero of="$1" bs=1M 2>/dev/null; dd if=/dev/zero of="$1.2" bs=1k 2>/dev/null; true',
        "sh",
        filler,
      ]);
      const { code, end } = await call().told;
      await rm(filler);
      await rm(`${filler}.2`);
      expect(end).not.toBe("cut off");
      if (end === "refused") expect(code).toBeDefined();
    },
  },
  {
    name: "another program uses the session's volume when budgie ends",
    on: "own engine",
    async inject({ budgie, call, docker, engine, user }) {
      const { facts } = await call().told;
      const volume = `budgie-session-${String(facts["sessionId"])}`;
      const HostConfig = { Binds: [`${volume}:/x`], NetworkMode: "none" };
      const holding = await docker.createContainer({ Image: TEST_IMAGE, Cmd: ["sleep", "300"], HostConfig });
      await holding.start();
      budgie().child.stdin?.end();
      await budgie().ended;
      await holding.remove({ force: true });
      expect(budgie().stderr()).toContain("budgie gc");
      await user.run(["gc"], { DOCKER_HOST: engine().host });
    },
  },
  {
    name: "the shim of the turn's container is killed",
    on: "own engine",
    args: ["--retry", "always"],
    async inject({ callAtWork, findTurns }) {
      const { told } = await callAtWork({ first: "[[sleep 2000]]" });
      for (const turn of await findTurns()) {
        const shims = findProcesses("cmdline", "containerd-shim", ` -id ${turn.id}`);
        expect(shims).not.toEqual([]);
        for (const pid of shims) process.kill(Number(pid), "SIGKILL");
      }
      expect((await told).end).not.toBe("cut off");
    },
  },
];

/** Removes the containers and volumes of a home's budgies. Returns false if a volume is in use, such as by a container being removed. */
async function removeAll({ docker, user: { host } }: FaultPlace): Promise<boolean> {
  const isOwned = (labels?: Record<string, string>): boolean =>
    labels?.["dev.budgie.lock"]?.startsWith(host.home) === true;
  const containers = (await docker.listContainers({ all: true })).filter(({ Labels }) => isOwned(Labels));
  await Promise.allSettled(containers.map(({ Id }) => docker.getContainer(Id).remove({ force: true })));
  const volumes = (await docker.listVolumes()).Volumes.filter(({ Labels }) => isOwned(Labels));
  const removals = await Promise.allSettled(volumes.map(({ Name }) => docker.getVolume(Name).remove()));
  return removals.every(({ status }) => status === "fulfilled");
}
