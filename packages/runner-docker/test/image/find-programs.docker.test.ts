import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionId, type Command } from "@budgie/core";
import { collectDockerGarbage } from "@budgie/runner-docker";
import { PROGRAMS_LABEL } from "../../src/image/find-programs.ts";
import { BASE_IMAGE, createDockerPlace, runCommand, testEngine } from "../helpers/docker-place.ts";
import { buildImage, type TestImage } from "./build-image.ts";

const KIRO = '#!/bin/sh\necho "$0 in $(cat /etc/project 2>/dev/null || echo budgie) $*"\n';
const FROM_BUDGIE = `FROM ${BASE_IMAGE}\nCOPY kiro-cli /opt/agents/bin/\nENV KIRO_RUNTIME_DIR=/opt/agents/kiro/runtime
LABEL dev.budgie.programs="/opt/agents"`;

let [budgies, projects]: TestImage[] = [];
let volume: string;
beforeAll(async () => {
  budgies = await buildImage(FROM_BUDGIE, { "kiro-cli": KIRO });
  projects = await buildImage(`FROM ${BASE_IMAGE}\nRUN echo a project >/etc/project
ENV KIRO_RUNTIME_DIR=/workspace/kiro`);
  const { Id } = await (await testEngine()).getImage(budgies.name).inspect();
  volume = `budgie-programs-${Id.slice("sha256:".length, "sha256:".length + 12)}`;
});
afterAll(async () => {
  await (
    await testEngine()
  )
    .getVolume(volume)
    .remove()
    .catch(() => undefined);
  await budgies?.[Symbol.asyncDispose]();
  await projects?.[Symbol.asyncDispose]();
});

async function runIn(image: string | undefined, script: string, { needsPrograms = true, kind = budgies?.name } = {}) {
  // Its containers are gone once the place is.
  await using place = createDockerPlace();
  const { runner } = await place.createRunner({ image: kind ?? "" });
  const session = await runner.openSession(createSessionId());
  const command: Command = { argv: ["sh", "-c", script], env: {}, projections: [], image, needsPrograms };
  const { stdout, stderr } = await runCommand(session, command, { directory: place.workspace });
  return { stdout, stderr };
}

describe("the agents' programs", () => {
  it("run in an image without them, which several budgies can begin with at once", async () => {
    const both = await Promise.all([
      runIn(projects?.name, "kiro-cli chat"),
      runIn(projects?.name, 'kiro-cli chat; echo "$PATH $KIRO_RUNTIME_DIR"'),
    ]);

    expect(both.map(({ stdout }) => stdout.split("\n")[0])).toEqual([
      "/opt/agents/bin/kiro-cli in a project chat",
      "/opt/agents/bin/kiro-cli in a project chat",
    ]);
    expect(both[1]?.stdout).toMatch(/\n\S+:\/opt\/agents\/bin \/opt\/agents\/kiro\/runtime\n$/);
  });

  it("are not shown to what is no agent, nor in the image that has them", async () => {
    const server = await runIn(projects?.name, "kiro-cli || ls /opt", { needsPrograms: false });
    const said = await runIn(projects?.name, 'echo "[$KIRO_RUNTIME_DIR]"', { needsPrograms: false });
    const own = await runIn(undefined, "/opt/agents/bin/kiro-cli; grep -c /opt/agents /proc/self/mounts");

    expect(said.stdout).toBe("[]\n");
    expect(server.stderr).toMatch(/kiro-cli.*not found/);
    expect(own.stdout).toBe("/opt/agents/bin/kiro-cli in budgie \n0\n");
  });

  it("replace none of the image, and cannot be changed by an agent", async () => {
    await using other = await buildImage(`FROM ${BASE_IMAGE}\nCOPY kiro-cli /usr/local/bin/`, { "kiro-cli": KIRO });
    const { stderr, stdout } = await runIn(
      other.name,
      "kiro-cli; echo x >/opt/agents/bin/kiro-cli || rm -rf /opt/agents/bin || cat /opt/agents/bin/kiro-cli | tail -n 1",
    );

    expect(stdout.split("\n")[0]).toBe("/usr/local/bin/kiro-cli in budgie ");
    expect(stdout).toContain("echo");
    expect(stderr).toMatch(/Read-only file system|Permission denied/);
  });

  it("are copied anew after a copy that was cut short", async () => {
    const docker = await testEngine();
    await docker.getVolume(volume).remove();
    await docker.createVolume({ Name: volume, Labels: { [PROGRAMS_LABEL]: await imageId() } });
    await docker.run(BASE_IMAGE, ["sh", "-c", "mkdir -p /p/bin && echo half >/p/bin/kiro-cli"], process.stdout, {
      HostConfig: { AutoRemove: true, Binds: [`${volume}:/p`], NetworkMode: "none" },
    });

    expect((await runIn(projects?.name, "kiro-cli")).stdout).toBe("/opt/agents/bin/kiro-cli in a project \n");
  });

  it("are not taken from a volume of that name that budgie did not make", async () => {
    const docker = await testEngine();
    await docker.getVolume(volume).remove();
    await docker.createVolume({ Name: volume });

    await expect(runIn(projects?.name, "kiro-cli")).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringContaining(`"docker volume rm ${volume}"`),
    });
    await docker.getVolume(volume).remove();
  });

  it("stay until no image has their name, and go with budgie gc then", async () => {
    await using host = createDockerPlace();
    const image = await buildImage(`${FROM_BUDGIE}\nRUN echo ${Math.random()} >/etc/other`, { "kiro-cli": KIRO });
    const id = await imageId(image.name);
    const name = `budgie-programs-${id.slice("sha256:".length, "sha256:".length + 12)}`;
    await runIn(projects?.name, "kiro-cli", { kind: image.name });
    const { owner } = await host.createRunner();
    const collect = async () => {
      const policy = { dryRun: false, olderThanMs: 0 };
      const options = { owner, stateDir: host.stateDir, home: process.env["HOME"] ?? "/root", hostEnv: process.env };
      const { removed } = await collectDockerGarbage({ ...options, policy });
      return removed.filter((item) => item.name === name);
    };

    expect(await collect()).toEqual([]);
    await image[Symbol.asyncDispose]();
    expect(await collect()).toEqual([{ kind: "volume", name, session: undefined }]);
  });
});

async function imageId(name = budgies?.name ?? ""): Promise<string> {
  return (await (await testEngine()).getImage(name).inspect()).Id;
}
