import { realpathSync } from "node:fs";
import { createSessionId } from "@budgie/core";
import { expect, it } from "vitest";
import { compileCore } from "../../../core/test/helpers/compile-core.ts";
import { KIRO_IMAGE, testEngine } from "../helpers/docker-place.ts";

const NODE = "/usr/local/lib/kiro-cli/node";

// A home, and other mounts of the home, of a project and of a part of it.
const MACHINE = `set -e
mkdir -p /home/me/.ssh /home/me/.config/gh /home/me/code/app/gh /home/me/code/plain /srv/home /srv/gh /srv/all /srv/app /srv/plain
mount --bind /home/me /srv/home
mount --bind /home/me/.config/gh /srv/gh
mount --bind /home /srv/all
mount --bind /home/me/.config/gh /home/me/code/app/gh
mount --bind /home/me/code/plain /srv/plain
mkdir -p /home/me/.mozilla /srv/mozilla /run/backup /srv/backup
mount -t tmpfs none /home/me/.mozilla
mount --bind /home/me/.mozilla /srv/mozilla
mount -t tmpfs none /srv/backup
mount --bind /srv/backup /run/backup
exec "$@"`;

const DIRECTORIES = [
  "/srv/home",
  "/srv/home/.ssh",
  "/srv/home/.config/gh",
  "/srv/gh",
  "/srv/all",
  "/home/me/code/app",
  "/home/me/code/app/gh",
  "/srv/home/code/app",
  "/srv",
  "/srv/home/code/plain",
  "/srv/plain",
  "/srv/mozilla",
  "/srv/backup",
];

it("a guarded directory is recognised at every path at which it or a parent is mounted", async () => {
  const outcomes = await checkOnMachine(DIRECTORIES);

  expect(outcomes).toEqual({
    "/srv/home": expect.stringContaining('shows "/home/me", which is your home directory'),
    "/srv/home/.ssh": expect.stringContaining('shows "/home/me/.ssh", which is your SSH keys'),
    "/srv/home/.config/gh": expect.stringContaining('which lies in "/home/me/.config"'),
    "/srv/gh": expect.stringContaining('which lies in "/home/me/.config"'),
    "/srv/all": expect.stringContaining('shows "/home", which holds your home directory'),
    "/home/me/code/app": expect.stringContaining('which lies in "/home/me/.config"'),
    "/home/me/code/app/gh": expect.stringContaining('which lies in "/home/me/.config"'),
    // The bind mount is not recursive.
    "/srv/home/code/app": "given",
    "/srv": expect.stringContaining("your home directory"),
    "/srv/home/code/plain": "given",
    "/srv/plain": "given",
    "/srv/mozilla": expect.stringContaining('which lies in "/home/me/.mozilla"'),
    // It is mounted in /run too, and contains nothing of /run.
    "/srv/backup": "given",
  });
});

/** Runs the compiled core in a container that may mount. */
async function checkOnMachine(directories: readonly string[]): Promise<unknown> {
  const program = `
    import { checkWorkspace } from "/core/policy/check-workspace.js";
    import { listGuardedPaths } from "/core/policy/list-guarded-paths.js";
    const home = "/home/me";
    const own = { agentsDir: home + "/.kiro/agents", promptsDir: home + "/.kiro/prompts", kiroDataDir: home + "/.local/kiro" };
    const guarded = listGuardedPaths({ home, ...own, stateDir: home + "/.state", sessionsDir: home + "/.sessions" });
    const outcomes = {};
    for (const directory of ${JSON.stringify(directories)}) {
      const check = checkWorkspace(directory, { allowedRoots: [], guarded });
      outcomes[directory] = await check.then(() => "given", (error) => error.message);
    }
    console.log("Outcomes: " + JSON.stringify(outcomes));`;
  const docker = await testEngine();
  const container = await docker.createContainer({
    name: `budgie-test-mounts-${createSessionId()}`,
    Image: KIRO_IMAGE,
    User: "0:0",
    Entrypoint: ["/bin/sh", "-c", MACHINE, "sh", NODE, "--input-type=module", "--eval", program],
    Tty: true,
    HostConfig: {
      NetworkMode: "none",
      CapAdd: ["SYS_ADMIN"],
      SecurityOpt: ["apparmor=unconfined", "seccomp=unconfined"],
      Binds: [`${realpathSync(compileCore())}:/core:ro`],
    },
  });
  try {
    await container.start();
    await container.wait();
    const said = (await container.logs({ stdout: true, stderr: true })).toString();
    return JSON.parse(/^Outcomes: (.*)$/m.exec(said)?.[1] ?? JSON.stringify(said));
  } finally {
    await container.remove({ force: true });
  }
}
