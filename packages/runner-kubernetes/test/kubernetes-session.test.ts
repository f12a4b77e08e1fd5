import { expect, it } from "vitest";
import { BudgieError, createSessionId } from "@budgie/core";
import { createKubernetesSession } from "../src/kubernetes-session.ts";
import type { Opening } from "../src/turn/suspendable.ts";
import type { ClusterContext } from "../src/turn/cluster-context.ts";

const LIMITS = { cpus: 1, memoryBytes: 1, diskBytes: 1, pids: 1, tmpBytes: 1 };

const COMMAND = { argv: ["true"] as const, env: {}, projections: [] };
const OPTIONS = {
  directory: process.cwd(),
  access: { workspace: "copy", egress: { mode: "none", hosts: [] }, limits: LIMITS },
} as const;

async function* nothing(): AsyncGenerator<never> {}

/** Opens a session whose cluster answers when the test says so, with what it did as words. */
async function begin(opening: Partial<Opening> = {}) {
  const did: string[] = [];
  const note = (word: string) => async () => void did.push(word);
  let refuse: (reason: Error) => void = () => undefined;
  const place = new Promise<never>((_resolve, reject) => (refuse = reject));
  place.catch(() => undefined);
  const context = {
    options: { image: "a", sidecarImage: "b", keepSessionsMs: 1_000 },
    limits: LIMITS,
    place: () => place,
    proxies: { reserve: () => ({ folder: "", socketPath: "", open: note("open"), remove: note("close proxy") }) },
    kept: {
      begin: async (_id: string, keepMs: number | undefined) => void did.push(`begin for ${keepMs}`),
      take: () => Promise.reject(new BudgieError("SESSION_NOT_FOUND", "Gone.")),
      remove: note("remove"),
    },
    idle: {
      acquire: () => void did.push("use"),
      release: () => void did.push("leave"),
      forget: () => undefined,
    },
    scratchDir: "",
  } as unknown as ClusterContext;
  const session = createKubernetesSession(context, { id: createSessionId(), origin: "new", ...opening });
  return { did, refuse: () => refuse(new BudgieError("RUNNER_UNAVAILABLE", "No cluster.")), session };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it.each([
  ["a fill", (session) => session.copy?.().fill(nothing())],
  ["a file", (session) => session.readFile("a")],
  ["an appended file", (session) => session.appendFile("a", "b")],
] as readonly [string, (session: Awaited<ReturnType<typeof createKubernetesSession>>) => Promise<unknown>][])(
  "the Pod of %s is in use as long as that waits for it",
  async (_what, work) => {
    const { did, refuse, session } = await begin();
    const working = work(await session);
    working.catch(() => undefined);
    await settle();
    expect(did).toEqual(["begin for 1000", "use"]);
    refuse();
    await expect(working).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
    expect(did).toEqual(["begin for 1000", "use", "leave"]);
  },
);

it("a session that is not to be kept is recorded so, and removed in place of being packed", async () => {
  const { did, session } = await begin({ isKept: false });
  await (await session).suspend(AbortSignal.timeout(1_000));
  expect(did).toEqual(["begin for undefined", "close proxy", "remove"]);
});

it("a session that cannot be taken over leaves no socket", async () => {
  const { did, session } = await begin({ origin: "kept" });
  await expect(session).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  expect(did).toEqual(["close proxy"]);
});

it("a second start is refused before it replaces files of the first", async () => {
  const { refuse, session } = await begin();
  const opened = await session;
  const first = opened.start(COMMAND, OPTIONS);
  const second = opened.start(COMMAND, OPTIONS);
  await expect(second).rejects.toMatchObject({ code: "INPUT_INVALID" });
  refuse();
  await expect(first).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
  await expect(opened.start(COMMAND, OPTIONS)).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
});

it("a start that waits for the cluster is cancelled", async () => {
  const { session } = await begin();
  const opened = await session;
  const over = new AbortController();
  const starting = opened.start(COMMAND, { ...OPTIONS, signal: over.signal });
  starting.catch(() => undefined);
  await settle();
  over.abort();
  await expect(starting).rejects.toMatchObject({ code: "CANCELLED" });
});
