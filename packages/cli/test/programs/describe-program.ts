import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createFakeLlm, type FakeLlm } from "@budgie/testkit";
import { createBudgieUser, toText, waitFor, type BudgieUser } from "../helpers/start-budgie.ts";
import { createContainerPlace } from "./container-place.ts";
import { createMachinePlace } from "./machine-place.ts";
import type { ProgramHost, Serving } from "./place.ts";
import type { Program } from "./programs.ts";

const PLACES = {
  "in a sandbox that reaches only its model": createContainerPlace,
  "on this machine": createMachinePlace,
};

/** The parts of the description that are left out by default. */
type Besides = {
  /** Describes turns on this machine too: since a program cannot tell, one of JavaScript and one binary show them for all */
  readonly onMachine?: boolean;
  /** Describes turns that end early: since the sandbox ends whatever runs in it, one program shows them for all */
  readonly endings?: boolean;
};

/** Describes turns of a program over ACP, which a scripted model answers. */
export function describeProgram(
  name: string,
  program: Program,
  { endings = false, onMachine = false }: Besides = {},
): void {
  const places = Object.entries(PLACES).filter(([, place]) => onMachine || place !== createMachinePlace);
  describe.each(places)(`${name} %s`, { timeout: 300_000 }, (_, createPlace) => {
    let llm: FakeLlm;
    let place: ProgramHost;
    beforeAll(async () => {
      llm = await createFakeLlm();
      place = await createPlace(program, llm);
    });
    afterAll(async () => {
      await place[Symbol.asyncDispose]();
      await llm[Symbol.asyncDispose]();
    });

    /** Runs a test with the program as the agent of a budgie, which leaves nothing when it ends. */
    async function withCoder(test: (coder: Coder) => Promise<void>, options: Partial<Serving> = {}): Promise<void> {
      await using user = await createBudgieUser();
      const { client, ended } = await place.serve(user, { program, facts: {}, args: [], ...options });
      await test({
        user,
        file: toFile(user, place),
        async ask(input, signal) {
          const call = { name: "kiro-subagents.coder", arguments: { directory: user.workspace, ...input } };
          const limits = { timeout: PATIENCE_MS, ...(signal === undefined ? {} : { signal }) };
          return (await client.callTool(call, undefined, limits)) as CallToolResult;
        },
      });
      await client.close();
      await ended;
      expect(await place.listTraces(user)).toEqual([]);
    }

    it("writes a file, stays for the next turn, and remembers both in another process", () =>
      withCoder(async ({ ask, file, user }) => {
        const write = `[[write ${file.seen}: by ACP]] [[say: It is written.]]`;
        const before = llm.requests.length;
        const first = await ask({ prompt: `Remember token-parrot. ${write}` });
        const requests = llm.requests.length - before;
        expect(requests).toBeGreaterThan(1);
        expect(first.structuredContent).toMatchObject({
          response: "It is written.",
          isolation: place.isolation,
        });
        expect(first.structuredContent?.["usage"]).toEqual(program.toUsage(requests));
        expect(first.structuredContent).not.toHaveProperty("denied");
        expect(readFileSync(file.path, "utf8")).toBe("by ACP");
        const sessionId = toSessionId(first);
        const [start] = await place.listStarts(user);

        const warm = await ask({ sessionId, prompt: "Remember token-macaw. [[recall]]" });
        expect(warm.structuredContent).toMatchObject({ sessionId, response: "token-parrot\ntoken-macaw" });
        // A program may answer before it has written its memory of the turn, but not of the one before.
        await ask({ sessionId, prompt: "[[say: Still here.]]" });
        expect(await place.listStarts(user)).toEqual([start]);

        await place.kill(user, program);
        await waitFor(async () => (await place.listStarts(user)).length === 0);
        const resumed = await ask({ sessionId, prompt: "[[recall]]" });
        expect(resumed.structuredContent).toMatchObject({ sessionId, response: "token-parrot\ntoken-macaw" });
        expect(resumed.structuredContent?.["usage"]).toEqual(program.toUsage(1));
        const [another] = await place.listStarts(user);
        expect(another).not.toBe(start);
      }));

    // Without a sandbox they do not depend on the program: its protocol's and the runner's contracts show them.
    if (createPlace === createMachinePlace) return;

    it("is denied its tools by the policy, which the result says", () =>
      withCoder(
        async ({ ask, file }) => {
          const result = await ask({ prompt: `[[write ${file.seen}: by ACP]] [[say: I tried.]]` });

          // After a denial, some programs end their turn without a word, and others continue.
          expect(JSON.stringify(result)).toMatch(/refused these tools: .*hello\.txt/);
          expect(existsSync(file.path)).toBe(false);
        },
        { facts: { permission: "deny" } },
      ));

    it("reports an error of its model", () =>
      withCoder(async ({ ask }) => {
        const result = await ask({ prompt: "[[fail: 400]]" });

        expect(result).toMatchObject({ isError: true, structuredContent: { code: "AGENT_FAILED" } });
        expect(toText(result)).toContain("told to fail");
      }));

    if (!endings) return;

    it("is cancelled in the middle of a tool call", () =>
      withCoder(async ({ ask, file, user }) => {
        const cancelling = new AbortController();
        const running = ask({ prompt: `[[run: ${toEndless(file)}]]` }, cancelling.signal);
        await untilRuns(file, running);

        cancelling.abort();

        await expect(running).rejects.toThrow();
        await waitFor(async () => (await place.listStarts(user)).length === 0);
      }));

    it("is reported as crashed if it is killed in the middle of a turn", () =>
      withCoder(async ({ ask, file, user }) => {
        const running = ask({ prompt: `[[run: ${toEndless(file)}]]` });
        await untilRuns(file, running);

        await place.kill(user, program);

        const result = await running;
        expect(result).toMatchObject({ isError: true, structuredContent: { code: "AGENT_CRASHED" } });
        expect(await place.listStarts(user)).toEqual([]);
      }, NO_RETRY));

    it("is stopped at the turn's timeout if it never answers", () =>
      withCoder(async ({ ask, user }) => {
        // Started without the timeout, since a slow machine starts slowly.
        const sessionId = toSessionId(await ask({ prompt: "[[say: Ready.]]" }));
        const before = llm.requests.length;

        const result = await ask({ sessionId, prompt: "[[hang]]", timeout: "15s" });

        expect(result).toMatchObject({ isError: true, structuredContent: { code: "TIMED_OUT" } });
        expect(llm.requests.length).toBeGreaterThan(before);
        expect(await place.listStarts(user)).toEqual([]);
      }, NO_RETRY));
  });
}

const NO_RETRY = { args: ["--retry", "never"] };

type Fields = Readonly<Record<string, unknown>>;

type Coder = {
  readonly user: BudgieUser;
  readonly ask: (input: Fields, signal?: AbortSignal) => Promise<CallToolResult>;
  readonly file: File;
};

/** A file of the workspace that does not exist yet. */
type File = {
  readonly path: string;
  /** Its path as the agent sees it */
  readonly seen: string;
};

// Programs start in a second or two, but many other tests run on the machine.
const PATIENCE_MS = 120_000;

function toFile(user: BudgieUser, place: ProgramHost): File {
  return { path: join(user.workspace, "hello.txt"), seen: join(place.toWorkspace(user), "hello.txt") };
}

/** Returns a command that makes the file and does not end. */
function toEndless({ seen }: File): string {
  return `touch ${seen}; tail -f ${seen}`;
}

/** Waits until the command of `toEndless` runs. Throws if the turn ends first. */
async function untilRuns({ path }: File, running: Promise<CallToolResult>): Promise<void> {
  let early: CallToolResult | undefined;
  running.then(
    (result) => (early = result),
    () => undefined,
  );
  await waitFor(() => early !== undefined || existsSync(path), PATIENCE_MS);
  if (early !== undefined) throw new Error(`The turn has ended: ${toText(early)}`);
}

function toSessionId({ structuredContent }: CallToolResult): string {
  return (structuredContent as { readonly sessionId: string }).sessionId;
}
