import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { callForProgress } from "../mcp/connection/call-for-progress.ts";
import { countOverlap } from "../../../cli/test/helpers/count-overlap.ts";
import { listTraces, openEngine } from "../../../cli/test/helpers/engine.ts";
import { createBudgieUser, toText, waitFor, type BudgieUser } from "../../../cli/test/helpers/start-budgie.ts";

const CALLS = 24;
const CAP = 4;

describe("24 sandboxed calls at once", () => {
  it("are all answered, with at most the limit of running containers, and leave none", async () => {
    await using user = await createBudgieUser();
    const logFile = join(user.workspace, "log");
    const readLog = (): string => (existsSync(logFile) ? readFileSync(logFile, "utf8") : "");
    const budgie = await user.start({ sandbox: true, args: ["--max-concurrent", String(CAP)] });
    const call = callForProgress(budgie, user.workspace);

    const calls = Array.from({ length: CALLS }, (_, number) => call(toGated(`answer ${number}`)));
    await waitFor(() => calls.every(({ told }) => told.length > 0) && countOverlap(readLog()) === CAP);
    const containers = await countTurnContainers(user);
    writeFileSync(join(user.workspace, "gate"), "");
    const answers = await Promise.all(calls.map(({ answer }) => answer));
    budgie.child.kill();
    await budgie.ended;

    expect(containers).toBe(CAP);
    expect(answers.map(toText)).toEqual(calls.map((_, number) => `answer ${number}`));
    expect(countOverlap(readLog())).toBe(CAP);
    expect(await listTraces(user)).toEqual([]);
  });
});

/** Returns a prompt whose agent records that it runs, and continues when the gate opens. */
function toGated(answer: string): string {
  return `[[run: echo + >> log; until test -e gate; do sleep 0.1; done; echo - >> log]][[say: ${answer}]]`;
}

/** Counts the turns' containers on the engine, running or not. */
async function countTurnContainers({ host }: BudgieUser): Promise<number> {
  const docker = await openEngine();
  const turns = await docker.listContainers({ all: true, filters: { label: ["dev.budgie.role=turn"] } });
  return turns.filter(({ Labels }) => Labels["dev.budgie.lock"]?.startsWith(host.home)).length;
}
