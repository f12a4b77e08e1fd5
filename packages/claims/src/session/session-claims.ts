import { randomUUID } from "node:crypto";
import { createSessionId, type TurnRequest } from "@budgie/core";
import type { Claim, Probe, Verdict } from "../probe/claim.ts";
import { inSandbox } from "../probe/in-sandbox.ts";
import { collect } from "../lab/collect.ts";
import type { Lab } from "../lab/lab.ts";
import { scriptMountSearch, scriptSearch } from "./secret-claims.ts";
import { judgeRefusal } from "../probe/verdicts.ts";

const OTHER_CODES = ["SESSION_NOT_FOUND", "INPUT_INVALID"] as const;

export const SESSION_CLAIMS: readonly Claim[] = [
  {
    id: "own-volumes",
    promise: "An agent cannot reach another session's home, login or conversation.",
    protections: ["own-volumes"],
    probes: [
      inSandbox("find a file of another session's home", async (lab) => scriptSearch([(await lab.victim()).secret])),
      inSandbox("find another session's conversation", async (lab) => scriptSearch([await converse(lab)])),
      inSandbox("have another session's volume mounted", ({ other }) => scriptMountSearch(other.id)),
    ],
  },
  {
    id: "session-ids",
    promise: "A caller cannot resume a session that it was not given, or reach a volume by a crafted session id.",
    protections: ["session-ids"],
    probes: [
      {
        name: "resume a session of another budgie",
        async attempt(lab) {
          const secret = await leaveSecret(lab);
          const attack = async (): Promise<string> => readHome(await lab.open({ id: lab.other.id }), lab);
          return judgeRefusal(attack(), secret, OTHER_CODES);
        },
      },
      makeIdProbe("resume a session that this budgie has but issued to no caller", ({ other }) => other.id),
      {
        name: "use another session's login volume as its home",
        async attempt(lab) {
          const target = await lab.open({ credentials: "full" });
          await lab.run(["/bin/true"], { session: target, login: "kiro" });
          const prompt = "cat /home/data.sqlite3 | tr -cd '[:print:]'";
          return callWith(lab, { prompt, sessionId: `${target.id}-auth` }, lab.host.login.access);
        },
      },
      {
        name: "resume another agent's session",
        attempt: (lab) => resumeAs(lab, { agent: "writer" }),
      },
      {
        name: "resume a session about another directory",
        attempt: async (lab) => resumeAs(lab, { directory: await lab.makeDirectory() }),
      },
    ],
  },
  {
    id: "new-container",
    promise:
      "A turn's container has nothing of earlier turns except the session's home and the workspace, unless its program stayed warm.",
    protections: ["own-container"],
    probes: [
      makeAfterProbe("find what an earlier turn left in /tmp", "echo x >/tmp/left", "[ -e /tmp/left ]"),
      makeAfterProbe("find what an earlier turn left in /var/tmp", "echo x >/var/tmp/left", "[ -e /var/tmp/left ]"),
      makeAfterProbe(
        "find what an earlier turn left in shared memory",
        "echo x >/dev/shm/left",
        "[ -e /dev/shm/left ]",
      ),
      makeAfterProbe(
        "find a process that an earlier turn left",
        "(exec setsid sleep 4321 >/dev/null 2>&1 </dev/null) & sleep 0.2",
        "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -qx '432[1]'",
      ),
      makeAfterProbe(
        "find an earlier turn's environment",
        "true",
        'tr "\\0" "\\n" </proc/1/environ | grep -q "^LEFT_BEHIND="',
      ),
    ],
  },
];

/** Writes a fake conversation into another session's home, and returns its secret. */
async function converse(lab: Lab): Promise<string> {
  const secret = `canary-conversation-${randomUUID()}`;
  const script = 'mkdir -p "$HOME/.local/share/kiro-cli" && printf %s "$1" >"$HOME/.local/share/kiro-cli/conversation"';
  // Not the victim's, whose turn runs: some runners have one turn of a session at a time.
  const session = await lab.runner.openSession(createSessionId());
  await lab.run(["/bin/sh", "-c", script, "sh", secret], { session });
  return secret;
}

async function leaveSecret(lab: Lab): Promise<string> {
  return (await lab.victim()).secret;
}

const READ_HOME = 'cat "$HOME/secret"';

async function readHome(session: Lab["session"], { host }: Lab): Promise<string> {
  const command = { argv: ["/bin/sh", "-c", READ_HOME] as const, env: {}, projections: [] };
  return (await collect(await session.start(command, { directory: host.project, input: "" }))).stdout;
}

function makeIdProbe(name: string, toId: (lab: Lab) => string): Probe {
  return {
    name,
    attempt: async (lab) => callWith(lab, { sessionId: toId(lab) }, await leaveSecret(lab)),
  };
}

/** Starts a session of the reviewer about the project, and tries to resume it with another agent or directory. */
async function resumeAs(lab: Lab, other: Partial<TurnRequest>): Promise<Verdict> {
  const secret = `canary-turn-${randomUUID()}`;
  const prompt = `printf ${secret} >"$HOME/secret"; echo left`;
  const { sessionId } = await lab.call({ agent: "reviewer", directory: lab.host.project, prompt });
  return callWith(lab, { ...other, sessionId }, secret);
}

async function callWith(lab: Lab, request: Partial<TurnRequest>, secret: string): Promise<Verdict> {
  const whole = { agent: "reviewer", prompt: READ_HOME, directory: lab.host.project, ...request };
  const reply = lab.call(whole).then(({ response }) => response);
  return judgeRefusal(reply, secret, OTHER_CODES);
}

/** Creates a probe with two turns of one session: `leave` runs in the first, and `isThere` tests for it in the second. */
function makeAfterProbe(name: string, leave: string, isThere: string): Probe {
  return inSandbox(name, async (lab) => {
    const { exit } = await lab.run(["/bin/sh", "-c", leave], { env: { LEFT_BEHIND: "x" } });
    if (exit.exitCode !== 0) return `untried "the first turn could not leave it"`;
    return `if ${isThere}; then through "it is there"; fi; held "nothing is left"`;
  });
}
