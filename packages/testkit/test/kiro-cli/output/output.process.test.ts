import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createKiroUser, JSON_OUTPUT, MARKER, parseEvents } from "../run-kiro-cli.ts";

it("answers in the second engine's text form, and ends with its credits line", async () => {
  await using user = await createKiroUser();

  const { stdout, stderr, exitCode } = await user.chat("[[say: one\ntwo]]", {
    argv: ["--agent", "reader", "--model", "claude-opus-4"],
  });

  expect({ stdout, exitCode }).toEqual({ stdout: `${MARKER}one\ntwo\n`, exitCode: 0 });
  expect(stderr).toBe("🤖 You are chatting with claude-opus-4\n\n\n ▸ Credits: 0.01 • Time: 1s\n");
});

it("has no credits line on the first engine", async () => {
  await using user = await createKiroUser();

  const { stdout, stderr } = await user.chat("[[say: one]]", { env: { FAKE_KIRO_PROFILE: "q1" } });

  expect(stdout).toBe("\u001B[38;5;10m> \u001B[0mone\n");
  expect(stderr).not.toContain("Credits");
});

it("begins a new message after a tool", async () => {
  await using user = await createKiroUser();
  await writeFile(join(user.work, "a.txt"), "content");

  const { stdout } = await user.chat("[[say: before]] [[sleep 1]] [[read a.txt]]");

  expect(stdout).toBe(
    `${MARKER}before\nReading file: ${user.work}/a.txt (using tool: read)\nPurpose: as the prompt asks\n\n` +
      ` ✓ Successfully read 7 bytes from ${user.work}/a.txt\n - Completed in 0.1s\n\n${MARKER}content\n`,
  );
});

it("reports a run as lines of JSON", async () => {
  await using user = await createKiroUser();
  await writeFile(join(user.work, "a.txt"), "content");

  const { stdout, exitCode } = await user.chat("[[say: before]] [[sleep 1]] [[read a.txt]]", JSON_OUTPUT);

  const events = parseEvents(stdout);
  const updates = events.filter(({ type }) => type === "sessionUpdate").map(({ data }) => data["update"]);
  expect(exitCode).toBe(0);
  expect(events[0]).toEqual({
    type: "runStarted",
    data: { payloadSchema: "acp", acpProtocolVersion: 1, engine: "v2" },
  });
  expect(events[1]).toMatchObject({ type: "metadata", data: { contextUsagePercentage: 5.3 } });
  expect(updates).toMatchObject([
    { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "before" } },
    { sessionUpdate: "tool_call", kind: "read", _meta: { kiro: { toolName: "read" } } },
    { sessionUpdate: "tool_call_update", status: "completed" },
    { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "content" } },
  ]);
  // All messages run together, as in the real program.
  expect(events.at(-1)).toMatchObject({
    type: "runFinished",
    data: {
      sessionId: events[1]?.data["sessionId"],
      status: "success",
      stopReason: "end_turn",
      finalText: "beforecontent",
    },
  });
});

it("needs no --no-interactive for stream-json", async () => {
  await using user = await createKiroUser();

  const { exitCode } = await user.run(["chat", "--output-format", "stream-json"], {
    input: "hi",
    env: { FAKE_KIRO_PROFILE: "v2json" },
  });

  expect(exitCode).toBe(0);
});

it("names an unknown directive", async () => {
  await using user = await createKiroUser();

  const { stdout } = await user.chat("[[wrtie a: b]]");

  expect(stdout).toContain('There is no directive "wrtie".');
});

it("shows the environment and what answers", async () => {
  await using user = await createKiroUser();

  const shown = await user.chat("[[env]]", { env: { SOME: "thing" } });
  const status = await user.chat("[[status]]", { argv: ["--agent", "reader"] });

  expect(JSON.parse(shown.stdout.replace(MARKER, ""))).toMatchObject({ SOME: "thing", HOME: user.host.home });
  expect(JSON.parse(status.stdout.replace(MARKER, ""))).toMatchObject({ agent: "reader", model: "auto", turn: 1 });
});
