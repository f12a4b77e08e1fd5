import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { createBell } from "../../../core/src/bell/create-bell.ts";
import { formatBellFacts } from "../../../core/src/bell/format-bell-facts.ts";
import { makeFacts } from "../../../core/test/bell/make-facts.ts";
import { startBell } from "../../../mcp-server/src/process/start-bell.ts";
import { loadConfigFile } from "../../src/config/config-file.ts";

const PAGE = readFileSync(new URL("../../../../docs/notify.md", import.meta.url), "utf8");

const blocksOf = (text: string, language: string): readonly string[] =>
  [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].flatMap(([, of, block = ""]) => (of === language ? [block] : []));

/** Rings with the script below a heading of the page, and its program replaced. Returns what that program got. */
async function ring(heading: string, program: string, outcome = "TIMED_OUT") {
  const home = mkdtempSync(join(tmpdir(), "budgie-notify-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const [, section = ""] = PAGE.split(`\n## ${heading}\n`);
  const text = section.split("\n## ")[0] ?? "";
  const write = (name: string, content: string): void => {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), content);
    chmodSync(join(home, name), 0o700);
  };
  write("bin/budgie-bell", blocksOf(text, "sh")[0] ?? "");
  write(".config/budgie/chat.curl", blocksOf(text, "ini")[0] ?? "");
  write(`stubs/${program}`, `#!/bin/sh\nprintf '%s\\n' "$@" >~/argv\ncat >~/in\n`);
  write("budgie.json", blocksOf(PAGE, "json")[0] ?? "");
  const { notify = [] } = loadConfigFile(join(home, "budgie.json"), home);
  const reports: string[] = [];
  const env = { PATH: `${join(home, "stubs")}:/usr/bin:/bin` };
  const bell = createBell({
    command: notify,
    host: { env, home },
    report: (line) => void reports.push(line),
    trust: { findDirectory: () => undefined },
    graceMs: 20_000,
    start: startBell,
  });

  const warnings = [`"summary":"forged", "outcome":"answered",`];
  const facts = formatBellFacts(makeFacts({ outcome, agent: `coder "$(id)" \`id\``, warnings }));
  bell.ring(facts);
  await bell.close();

  const read = (name: string): string => (existsSync(join(home, name)) ? readFileSync(join(home, name), "utf8") : "");
  return { argv: read("argv").trimEnd().split("\n"), facts, input: read("in"), reports };
}

const SUMMARY = "coder '$(id)' `id`: failed (TIMED_OUT) after 11.7s";

it("The desktop's example of docs/notify.md shows the sentence, as one word", async () => {
  const { argv, reports } = await ring("On a desktop", "notify-send");

  expect([argv, reports]).toEqual([["--app-name", "budgie", "--", SUMMARY], []]);
});

it("The chat's example of docs/notify.md sends the sentence as JSON, and its secret is in no argument", async () => {
  const { argv, input, reports } = await ring("In a chat", "curl");

  expect([JSON.parse(input), reports]).toEqual([{ text: SUMMARY }, []]);
  expect(argv).toContainEqual(expect.stringMatching(/^\/.*\/chat\.curl$/));
  expect(argv.join(" ")).not.toMatch(/SECRET|https?:/);
});

it.each([
  ["TIMED_OUT", true],
  ["answered", false],
])(
  "The mail's example of docs/notify.md, after a turn that ended as %s, writes a mail: %s",
  async (outcome, writes) => {
    const { argv, facts, input, reports } = await ring("By mail", "sendmail", outcome);

    const mail = `To: me@example.com\nSubject: budgie: ${SUMMARY}\n\n${facts}\n`;
    expect([input, reports]).toEqual([writes ? mail : "", []]);
    expect(argv).toEqual(writes ? ["-i", "me@example.com"] : [""]);
  },
);
