import { randomUUID } from "node:crypto";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { BudgieError, type RunnerSession } from "@budgie/core";
import type { Claim, Probe, Verdict } from "../probe/claim.ts";
import type { Lab } from "../lab/lab.ts";
import { renewLogin } from "../lab/fake-home.ts";
import { held, through, untried } from "../probe/verdicts.ts";

const DATA = '"$HOME/.local/share/kiro-cli"';

export const HOME_CLAIMS: readonly Claim[] = [
  {
    id: "planted-home",
    promise: "An agent's symlink in its home does not redirect a renewed login into the repository.",
    protections: ["real-parents"],
    probes: [
      makePlantProbe(
        "have a login written through .local",
        'rm -rf "$HOME/.local"; ln -s /workspace/leak "$HOME/.local"',
        "kiro",
      ),
      makePlantProbe(
        "have a login written through .local/share",
        'rm -rf "$HOME/.local/share"; ln -s /workspace/leak "$HOME/.local/share"',
        "kiro",
      ),
      makePlantProbe("have a login written through kiro-cli", `rm -rf ${DATA}; ln -s /workspace/leak ${DATA}`, "kiro"),
    ],
  },
  {
    id: "planted-mount-points",
    promise: "An agent's symlink in its home does not make the engine mount or create a folder in the repository.",
    protections: ["real-parents"],
    isOfEngine: true,
    probes: [
      makePlantProbe(
        "have a folder mounted through .kiro",
        'mv "$HOME/.kiro" "$HOME/was"; ln -s /workspace/leak "$HOME/.kiro"',
      ),
      makePlantProbe(
        "have a folder mounted through .kiro/steering",
        'mv "$HOME/.kiro" "$HOME/was"; mkdir "$HOME/.kiro"; ln -s /workspace/leak/steering "$HOME/.kiro/steering"',
      ),
    ],
  },
  {
    id: "plain-files",
    promise: "In an agent's home, budgie reads and writes only regular files of bounded size and follows no symlinks.",
    protections: ["plain-files"],
    probes: [
      makeReadProbe("leave a symlink as its answer", (secret) => `ln -s '${secret}' "$HOME/answer"`),
      makeReadProbe("leave a named pipe as its answer", () => 'mkfifo "$HOME/answer"'),
      makeReadProbe("leave a folder as its answer", () => 'mkdir "$HOME/answer" && truncate -s 200G "$HOME/answer/x"'),
      makeReadProbe("leave a sparse file of 64 MiB as its answer", () => 'truncate -s 64M "$HOME/answer"'),
      makeAppendProbe("have the log written through a symlink"),
    ],
  },
];

/** Creates a probe that is held if the next turn, with a renewed login, leaves nothing in the repository. */
function makePlantProbe(name: string, plant: string, login?: "kiro"): Probe {
  return {
    name,
    async attempt(lab) {
      const [session, directory] = [await lab.open({ credentials: "full" }), await lab.makeDirectory()];
      const turn = { session, directory, ...(login && { login }) };
      for (const folder of LEAK) await mkdir(join(directory, folder), { recursive: true });
      const planted = await lab.run(["/bin/sh", "-c", plant], turn);
      if (planted.exit.exitCode !== 0) return untried(`it could not be planted: ${planted.stderr}`);
      await renewLogin(lab.host);
      const refusal = await lab.run(["/bin/true"], turn).then(
        () => undefined,
        (error: Error) => error,
      );
      const found = (await readdir(directory, { recursive: true })).filter((path) => !LEAK.includes(path));
      if (found.length > 0) return through(`the repository holds ${found.join(", ")}`);
      if (refusal instanceof BudgieError && refusal.code === "SESSION_UNUSABLE") return held(refusal.message);
      return untried(refusal?.message ?? "the next turn ran, but wrote nothing");
    },
  };
}

// The target of the symlinks, with all folders that a write through them needs.
const LEAK = ["leak", "leak/notes", "leak/share", "leak/share/kiro-cli", "leak/kiro-cli"];

// More than this would mean that the read is not bounded.
const MOST_BYTES = 4 * 1024 * 1024;
const READ_LIMIT_MS = 5000;

function makeReadProbe(name: string, toPlant: (secret: string) => string): Probe {
  return makeHomeProbe(name, async ({ host }, plant, session) => {
    await plant(toPlant(join(host.path, ".ssh/id_rsa")));
    const late = Symbol("late");
    const reading = session.readFile("answer").catch((error: unknown) => `error ${String(error)}`);
    const content = await Promise.race([reading, delay(READ_LIMIT_MS, late)]);
    if (content === late) return through("budgie waited for it");
    if (content === undefined) return held("it is not read as a file");
    if (content.includes(host.canaries[".ssh/id_rsa"])) return through("budgie read the symlink's target");
    if (content.startsWith("error")) return through(content);
    return content.length > MOST_BYTES ? through(`${content.length} bytes were read`) : held(`${content.length} bytes`);
  });
}

function makeAppendProbe(name: string): Probe {
  return makeHomeProbe(name, async ({ makeDirectory }, plant, session) => {
    const [target, marker] = [join(await makeDirectory(), "target"), randomUUID()];
    await plant(`ln -s '${target}' "$HOME/log"`);
    const refusal = await session.appendFile("log", marker).catch(expectUnusable);
    const names = await readdir(join(target, ".."));
    if (names.length > 0) return through("budgie wrote to the symlink's target");
    return held(refusal?.message ?? "the symlink was replaced");
  });
}

/** Returns the error of a session that an agent made unusable, and throws others. */
function expectUnusable(error: unknown): BudgieError {
  if (error instanceof BudgieError && error.code === "SESSION_UNUSABLE") return error;
  throw error;
}

type Plant = (script: string) => Promise<void>;

function makeHomeProbe(
  name: string,
  attack: (lab: Lab, plant: Plant, session: RunnerSession) => Promise<Verdict>,
): Probe {
  return {
    name,
    async attempt(lab) {
      const session = await lab.open();
      return attack(
        lab,
        async (script) => {
          const { exit, stderr } = await lab.run(["/bin/sh", "-c", script], { session });
          if (exit.exitCode !== 0) throw new Error(`It could not be planted: ${stderr}`);
        },
        session,
      );
    },
  };
}

function delay<T>(milliseconds: number, value: T): Promise<T> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds, value).unref());
}
