import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOwner, createSessionId } from "@budgie/core";
import type { FilledEntry } from "@budgie/core/copies";
import { findClusterLack } from "@budgie/testkit";
import { createPodCopy } from "../../src/files/create-pod-copy.ts";
import { createKeptSessions } from "../../src/keeping/create-kept-sessions.ts";
import { SHAPE } from "../helpers/pod-shape.ts";
import { startPods, type TestPod, type TestPods } from "../helpers/start-pods.ts";

const lack = findClusterLack();

/** Lists all of a folder, as a copy gets it. */
async function* listAll(root: string, below = ""): AsyncGenerator<FilledEntry> {
  for (const name of readdirSync(join(root, below))) {
    const path = below === "" ? name : `${below}/${name}`;
    const { mode, mtimeMs, size } = statSync(join(root, path));
    const isFolder = statSync(join(root, path)).isDirectory();
    if (isFolder) yield { entry: { path, kind: "folder", mode: mode & 0o777 }, mtimeMs };
    else
      yield {
        entry: { path, kind: "file", mode: mode & 0o777, size },
        content: readFileSync(join(root, path)),
        mtimeMs,
      };
    if (isFolder) yield* listAll(root, path);
  }
}

describe.skipIf(lack !== undefined)(`the copy in a Pod${lack === undefined ? "" : ` (skipped: ${lack})`}`, () => {
  const place = mkdtempSync(join(tmpdir(), "budgie-copy-"));
  let pods: TestPods;

  beforeAll(async () => {
    pods = await startPods("copies");
  }, 300_000);
  afterAll(async () => {
    await pods?.[Symbol.asyncDispose]();
    rmSync(place, { recursive: true, force: true });
  }, 60_000);

  async function run(pod: TestPod, script: string): Promise<string> {
    const { stdout, ...rest } = await pod.run({ argv: ["sh", "-c", script] });
    expect(rest).toMatchObject({ exit: { exitCode: 0 }, stderr: "" });
    return stdout;
  }

  it("is git's as the agent's own, comes back as it was, and moves to another Pod", async () => {
    const project = join(place, "project");
    mkdirSync(join(project, "src"), { recursive: true });
    writeFileSync(join(project, "src/main.c"), "int main;\n");
    writeFileSync(join(project, "run"), "#!/bin/sh\n", { mode: 0o755 });
    const git = ["-c", "user.name=a", "-c", "user.email=a@b"];
    execFileSync("git", ["init", "-q", "-b", "main", project]);
    execFileSync("git", [...git, "-C", project, "add", "-A"]);
    execFileSync("git", [...git, "-C", project, "commit", "-qm", "first"]);
    const session = createSessionId();
    const one = await pods.open();
    const pod = { present: one };
    const copy = createPodCopy({ session, openPod: async () => pod.present });
    const read = async () => {
      const modes = new Map<string, string>();
      for await (const { content, entry } of copy.read()) {
        const mode = "mode" in entry ? entry.mode.toString(8) : "";
        if (!entry.path.startsWith(".git/"))
          modes.set(entry.path, `${mode} ${content === undefined ? "" : await text(content)}`);
      }
      return Object.fromEntries(modes);
    };

    const id = await copy.fill(listAll(project));
    const owners = "{ id -u; stat -c %u . .git .git/HEAD; } | uniq";
    expect(await run(one, `git status --porcelain; git log --format=%s; ${owners}`)).toMatch(/^first\n\d+\n$/);
    await run(one, "mkdir -p src/new && echo new > src/new/file && cp run src/new/run && git add -A");
    const changed = {
      ".git": "755 ",
      run: "755 #!/bin/sh\n",
      src: "755 ",
      "src/main.c": "644 int main;\n",
      "src/new": "755 ",
      "src/new/file": "644 new\n",
      "src/new/run": "755 #!/bin/sh\n",
    };
    expect(await read()).toEqual(changed);

    await run(
      one,
      "cd /home/agent && umask 077 && mkdir -p .closed && echo kept > .closed/file && chmod 0 .closed && mkfifo pipe",
    );
    const stateDir = join(place, "state");
    const owner = createOwner({ stateDir });
    const kept = createKeptSessions({ stateDir, owner });
    await kept.pack(one, { session, fillId: await copy.fillId(), limits: SHAPE.limits, keepMs: undefined });
    await one.remove();
    const two = (pod.present = await pods.open());
    await kept.restore(two, session);
    await copy.enter(two);
    expect(await copy.fillId()).toBe(id);
    const moved =
      "git status --porcelain; cd /home/agent; ls -A; stat -c %a .closed; chmod 700 .closed; cat .closed/file";
    expect(await run(two, moved)).toBe("A  src/new/file\nA  src/new/run\n.closed\n0\nkept\n");
    expect(await read()).toEqual(changed);
    await two.remove();
    await owner.release();
  }, 300_000);
});
