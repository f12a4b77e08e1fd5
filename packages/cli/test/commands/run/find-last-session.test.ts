import { expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import type { RegisterEntry } from "@budgie/core/sessions";
import { findLastSession } from "../../../src/commands/run/find-last-session.ts";

const SUBJECT = { agent: "reader", directory: "/project", isolation: "container" } as const;

function makeSession(over: Partial<RegisterEntry> = {}): RegisterEntry {
  const times = { begun: true, createdMs: 1, usedMs: 2, keepMs: 3, owner: { instance: "i", host: "h", lock: "/l" } };
  return { id: createSessionId(), ...SUBJECT, origin: "run", ...times, ...over };
}

const find = (sessions: readonly RegisterEntry[]) => findLastSession({ list: async () => sessions }, SUBJECT);

it("--continue finds the last session of budgie run, and none of a server, agent, directory or isolation besides", async () => {
  const others = [
    { origin: undefined },
    { agent: "other" },
    { directory: "/elsewhere" },
    { isolation: "none" as const },
  ].map(makeSession);
  const [last, older] = [makeSession(), makeSession()];

  expect(await find([...others, last, older])).toBe(last.id);
  await expect(find(others)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
});
