import { execFile } from "node:child_process";
import { readFileSync, realpathSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { createOwner, createSessionId, type Command, type RunnerSession } from "@budgie/core";
import { inspectSandbox } from "@budgie/runner-docker";
import { createHostHome } from "@budgie/testkit";
import { buildImage, type ContextFiles } from "./build-image.ts";
import { createEngineProxy } from "../helpers/engine-proxy.ts";
import { BASE_IMAGE, createDockerPlace, run, runCommand, testEngine } from "../helpers/docker-place.ts";

const place = createDockerPlace();
afterAll(() => place[Symbol.asyncDispose]());

async function openIn(image: string, kiroDataDir = `${place.root}/no-kiro`): Promise<RunnerSession> {
  const { runner } = await place.createRunner({ image, kiroDataDir });
  return runner.openSession(createSessionId());
}

const KIRO = `#!/bin/sh
IFS= read -r prompt
echo "agent got: $prompt"
echo "$prompt" > "$HOME/answer.md"
echo made > /workspace/made-by-agent
case $prompt in *forever*) trap '' TERM; while :; do :; done;; esac
`;

describe("an image with only /bin/sh and kiro-cli", () => {
  it("runs turns, reads answers, stops hanging processes, and ends with budgie", async () => {
    await using image = await buildImage("FROM scratch\nCOPY . /\nENV PATH=/bin", {
      ...(await shell()),
      "bin/kiro-cli": KIRO,
    });
    await using host = await createHostHome();
    const session = await openIn(image.name, host.dataDir);
    const command: Command = {
      argv: ["kiro-cli", "chat"],
      env: {},
      projections: [{ source: host.agentsDir, home: ".kiro/agents" }],
      login: "kiro",
    };

    const first = await runCommand(session, command, { directory: place.workspace, input: "a prompt\nof two lines" });
    const answer = await session.readFile("answer.md");
    const hung = await session.start(command, { directory: place.workspace, input: "forever" });
    hung.stdout.resume();
    await sleep(500);
    await hung.stop("timeout");

    expect(first).toMatchObject({ stdout: "agent got: a prompt\n", exit: { exitCode: 0 } });
    expect(answer).toBe("a prompt\n");
    expect(readFileSync(`${place.workspace}/made-by-agent`, "utf8")).toBe("made\n");
    expect(await hung.exit).toMatchObject({ signal: "SIGKILL", reason: "timeout" });
    expect((await run(session, place.workspace, "nonexistent-program")).exit.exitCode).toBe(127);
  });

  it("ends a turn whose budgie closed its input", async () => {
    await using image = await buildImage("FROM scratch\nCOPY . /\nENV PATH=/bin", await shell());
    await using proxy = await createEngineProxy();
    const { runner } = await place.createRunner({ image: image.name, hostEnv: proxy.hostEnv });
    const session = await runner.openSession(createSessionId());
    const child = await session.start(
      { argv: ["sh", "-c", "trap '' TERM; while :; do :; done"], env: {}, projections: [] },
      { directory: place.workspace, input: "x" },
    );
    child.stdout.resume();
    child.stderr.resume();
    await sleep(500);

    // The kernel closes the connections of a killed process like this.
    proxy.cut();

    expect(await child.exit).toMatchObject({ signal: "SIGKILL", reason: undefined });
    await runner.close();
  });
});

describe("an image by the original's Dockerfile", () => {
  // As root, Kiro's installer puts its programs into this folder.
  const ORIGINAL = `FROM ${BASE_IMAGE}
RUN chmod 700 /root
COPY kiro-cli /root/.local/bin/kiro-cli
WORKDIR /workspace
ENTRYPOINT ["/entrypoint.sh"]`;

  it("is refused at the start, and by the doctor, unless agents can run their program", async () => {
    await using image = await buildImage(ORIGINAL, { "kiro-cli": KIRO });
    const message =
      `The image "${image.name}" was built for the original budgie, whose agents were root. ` +
      `The image has no "kiro-cli" on its PATH, /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin. ` +
      `Build it anew: "budgie build-image --tag ${image.name}".`;
    await using linked = await buildImage(`FROM ${image.name}\nRUN cp /root/.local/bin/kiro-cli /usr/local/bin`);
    const program = "kiro-cli";

    const starting = place.createRunner({ image: image.name, program });

    await expect(starting).rejects.toMatchObject({ code: "IMAGE_NOT_FOUND", message });
    const owner = createOwner({ stateDir: place.stateDir }).record;
    const machine = { owner, stateDir: place.stateDir, home: place.root, hostEnv: process.env };
    const facts = await inspectSandbox({ ...machine, image: image.name, program });
    expect(facts.program).toEqual({ ok: false, problem: message });
    await expect(place.createRunner({ image: linked.name, program })).resolves.toBeDefined();
  });
});

describe("an image with its own user, folders and entrypoint", () => {
  const ODD = `FROM ${BASE_IMAGE}
RUN mkdir -p /data && echo of-the-image > /data/seed && mkdir -p /home/agent && echo of-the-image > /home/agent/seed
ENV XDG_DATA_HOME=/data/xdg XDG_CONFIG_HOME=/nowhere HOME=/data LANG=xx
ENV PATH=/opt/tools:/usr/bin:/bin
USER 4321:4321
WORKDIR /nowhere/else
VOLUME /data
VOLUME /var/cache/odd
HEALTHCHECK --interval=1s CMD touch /tmp/health-was-checked
STOPSIGNAL SIGINT
ENTRYPOINT ["/bin/false"]
CMD ["nothing"]
`;

  it("runs the command as the caller, in the workspace, with budgie's folders and the image's PATH", async () => {
    await using image = await buildImage(ODD);
    const docker = await testEngine();
    const before = await docker.listVolumes();
    const session = await openIn(image.name);

    const { exit, stderr, stdout } = await run(
      session,
      place.workspace,
      'sleep 2; echo "$(id -u) $PWD $HOME $XDG_DATA_HOME $XDG_CONFIG_HOME $PATH"; ls -A "$HOME" /tmp',
    );
    await session.remove();

    expect(stderr).toBe("");
    expect(exit.exitCode).toBe(0);
    expect(stdout.split("\n")[0]).toBe(
      `${process.getuid?.() ?? 0} /workspace /home/agent /home/agent/.local/share /home/agent/.config /opt/tools:/usr/bin:/bin`,
    );
    expect(stdout).not.toMatch(/seed|health/);
    const unnamed = (await docker.listVolumes()).Volumes.filter(({ Name }) => /^[0-9a-f]{64}$/.test(Name));
    expect(unnamed.filter(({ Name }) => !before.Volumes.some((volume) => volume.Name === Name))).toEqual([]);
  });

  it("may declare volumes at budgie's mounts, and is refused with volumes inside them", async () => {
    await using fine = await buildImage(`FROM ${BASE_IMAGE}\nVOLUME /home /auth /workspace /tmp /home/other`);
    await using bad = await buildImage(`FROM ${BASE_IMAGE}\nVOLUME /home/agent/.local`);
    const session = await openIn(fine.name);

    await run(session, place.workspace, 'echo kept > "$HOME/note"; echo kept > /workspace/note');

    expect((await run(session, place.workspace, 'cat "$HOME/note" /workspace/note; ls -A /tmp')).stdout).toBe(
      "kept\nkept\n",
    );
    expect(readFileSync(`${place.workspace}/note`, "utf8")).toBe("kept\n");
    await expect(openIn(bad.name)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining('a volume at "/home/agent/.local"'),
    });
  });

  it("is refused without a /bin/sh", async () => {
    await using image = await buildImage("FROM scratch\nCOPY . /", { program: "" });
    const session = await openIn(image.name);

    const { exit, stderr } = await run(session, place.workspace, "true");

    expect(exit.exitCode).not.toBe(0);
    expect(stderr).toMatch(/\/bin\/sh/);
  });
});

describe("a command that names an image", () => {
  it("runs in it, in the session's home, and other commands in the runner's image", async () => {
    await using image = await buildImage(`FROM ${BASE_IMAGE}\nRUN echo of-the-command > /etc/which`);
    await using later = await buildImage(`FROM ${BASE_IMAGE}\nRUN echo built-again > /etc/which`);
    const session = await openIn(BASE_IMAGE);
    const argv = [
      "sh",
      "-c",
      'cat /etc/which; echo "from $(wc -l < "$HOME/notes" 2>/dev/null)" >> "$HOME/notes"',
    ] as const;
    const runIn = (name: string | undefined) =>
      runCommand(session, { argv, env: {}, projections: [], image: name }, { directory: place.workspace });

    const said = [await runIn(image.name), await runIn(undefined), await runIn(image.name)].map(({ stdout }) => stdout);

    const [repo = "", tag = ""] = image.name.split(":");
    await (await testEngine()).getImage(later.name).tag({ repo, tag });
    said.push((await runIn(image.name)).stdout);

    expect(said).toEqual(["of-the-command\n", "", "of-the-command\n", "built-again\n"]);
    expect(await session.readFile("notes")).toBe("from \nfrom 1\nfrom 2\nfrom 3\n");
    await expect(runIn("budgie-test-none:1")).rejects.toMatchObject({
      code: "IMAGE_NOT_FOUND",
      message: expect.stringContaining('"budgie-test-none:1"'),
    });
    const { Image } = await (await testEngine()).getContainer(`budgie-session-${session.id}`).inspect();
    expect(Image).not.toBe((await (await testEngine()).getImage(image.name).inspect()).Id);
  });
});

/** Returns the host's dash with its libraries, and no other program. */
async function shell(): Promise<ContextFiles> {
  const binary = realpathSync("/bin/sh");
  const { stdout } = await promisify(execFile)("ldd", [binary]);
  const libraries = stdout.match(/\/\S+/g) ?? [];
  const files = libraries.map((path) => [path.slice(1), readFileSync(path)] as const);
  return { "bin/sh": readFileSync(binary), ...Object.fromEntries(files) };
}
