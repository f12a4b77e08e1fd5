import { describe, expect, it } from "vitest";
import {
  hasMessage,
  saysFinished,
  sumUsage,
  extractAnswer,
  listDeniedTools,
  listUsedTools,
  lastLines,
  withoutTerminalCodes,
} from "../../src/kiro/kiro-output.ts";

const ESC = "\u001B";
const MARKER = `${ESC}[38;5;141m> ${ESC}[0m`;
const OLD_MARKER = `${ESC}[38;5;10m> ${ESC}[0m`;
const DENIED =
  "Command shell is rejected because it matches one or more rules on the denied list:\n" +
  "  - non-interactive mode (no user to approve)\n";
const DENIED_ON_STDERR =
  "[denied] tool permission approval is not supported in non-interactive mode. Use --trust-all-tools to auto-approve.\n";

describe("listUsedTools", () => {
  it("names the tools that Kiro says it used, each time", () => {
    const stdout = `${MARKER}I look.\nReading a (${ESC}[1musing tool: read${ESC}[22m)\nx (using tool: shell, max 5)\nx (using tool: read)`;

    expect(listUsedTools(stdout)).toEqual(["read", "shell", "read"]);
  });

  it("takes no name that could be more than a name, and not any number", () => {
    expect(listUsedTools("(using tool: a b) (using tool: a\nb)")).toEqual([]);
    expect(listUsedTools("(using tool: a)".repeat(2000))).toHaveLength(1000);
  });
});

describe("extractAnswer", () => {
  it.each([
    ["the marker", `${MARKER}Hello\n`, "Hello"],
    ["the older marker", `${OLD_MARKER}Hello\n`, "Hello"],
    ["a marker that ends with the default colour", `${ESC}[32m> ${ESC}[39mHello`, "Hello"],
    ["the marker of each message", `${MARKER}One\n${MARKER}Two\n`, "One\nTwo"],
    ["colours", `${MARKER}${ESC}[1mbold${ESC}[22m and ${ESC}[31mred${ESC}[0m`, "bold and red"],
    ["cursor codes", `${ESC}[?25l${MARKER}Hello${ESC}[2K${ESC}[1G${ESC}[?25h`, "Hello"],
    ["links", `${MARKER}${ESC}]8;;https://x.test${ESC}\\text${ESC}]8;;${ESC}\\`, "text"],
    ["carriage returns", `${MARKER}one\r\ntwo\r`, "one\ntwo"],
    ["blank lines around", `\n\n${MARKER}\n Hello \n\n`, "Hello"],
  ])("leaves out %s", (_what, stdout, answer) => {
    expect(extractAnswer(stdout)).toBe(answer);
  });

  it.each(["> quoted\n> twice", "a > b", "if (a > 0) {", "1 >  2"])("keeps the plain %j", (text) => {
    expect(extractAnswer(MARKER + text)).toBe(text);
  });

  it("keeps a coloured text that only begins like the marker", () => {
    expect(extractAnswer(`${MARKER}${ESC}[31m>> ${ESC}[0mx`)).toBe(">> x");
  });

  it("is empty for output of only markers and codes", () => {
    expect(extractAnswer(`${MARKER}\n${ESC}[0m\n`)).toBe("");
  });
});

describe("hasMessage", () => {
  it("is true once the model has begun to speak, however often it is called", () => {
    expect([1, 2, 3].map(() => hasMessage(`x\n${MARKER}Hello`))).toEqual([true, true, true]);
    expect(hasMessage("> Hello")).toBe(false);
  });
});

describe("withoutTerminalCodes", () => {
  it("keeps unicode, tabs and line breaks", () => {
    expect(withoutTerminalCodes(`${ESC}[2m日本\té\n${ESC}[0m✓`)).toBe("日本\té\n✓");
  });
});

describe("listDeniedTools", () => {
  it.each<[string, string, string, readonly string[]]>([
    ["none", `${MARKER}Done`, "", []],
    ["one named on stdout", `${DENIED}${MARKER}I could not`, "", ["shell"]],
    ["one in colours", `${ESC}[31m${DENIED}${ESC}[0m`, "", ["shell"]],
    ["one named on stderr", "", DENIED, ["shell"]],
    ["two, each once", DENIED + DENIED.replace("shell", "@git/push") + DENIED, "", ["shell", "@git/push"]],
    ["one without a name", `${MARKER}I could not`, DENIED_ON_STDERR, ["unknown"]],
    ["many without a name", "", DENIED_ON_STDERR + DENIED_ON_STDERR, ["unknown"]],
    ["both forms of one", DENIED, DENIED_ON_STDERR, ["shell"]],
    ["none in an answer that only mentions denials", "The Command shell is rejected because it is dangerous.", "", []],
  ])("finds %s", (...[, stdout, stderr, tools]) => {
    expect(listDeniedTools(stdout, stderr)).toEqual(tools);
  });
});

it("listDeniedTools limits the number of tools and their length", () => {
  const many = Array.from({ length: 200 }, (_, at) => DENIED.replace("shell", `${at}-${"x".repeat(300)}`)).join("");

  const tools = listDeniedTools(many, "");

  expect([tools.length, tools[99]?.length]).toEqual([100, 200]);
});

describe("sumUsage", () => {
  it.each([
    [["\n ▸ Credits: 0.07 • Time: 4s\n"], { credits: 0.07 }],
    [[`${ESC}[2m\n ▸ Credits: 12 • Time: 4s${ESC}[0m\n`], { credits: 12 }],
    [["▸ Credits: 0.1 • Time: 1s\n▸ Credits: 0.2 • Time: 2s\n"], { credits: 0.2 }],
    [["▸ Credits: 0.1 • Time: 1s\n", "nothing", "▸ Credits: 0.2 • Time: 2s\n"], { credits: 0.3 }],
    [
      ["▸ Credits: none\n", "▸ Credits: -1 •\n", "▸ Credits: 1,234.5 •\n", `▸ Credits: ${"9".repeat(400)} •\n`],
      undefined,
    ],
    [["You have no Credits: 0\n", ""], undefined],
    [[], undefined],
  ])("adds up the cost of all runs in %j", (stderrs, usage) => {
    expect(sumUsage(stderrs)).toEqual(usage);
  });
});

describe("saysFinished", () => {
  it.each([
    ["\n ▸ Credits: 0.07 • Time: 4s\n", true],
    [`${ESC}[2m\n ▸ Credits: 0.07 • Time: 4s${ESC}[0m\n`, true],
    ["warning\r\n ▸ Credits: 0.1 • Time: 1s\r\n", true],
    ["", false],
    ["You have no Credits: 0\n", false],
  ])("of %j is %s", (stderr, finished) => {
    expect(saysFinished(stderr)).toBe(finished);
  });
});

describe("lastLines", () => {
  it("is the last five lines, joined into one", () => {
    expect(lastLines("1\n2\n3\n\n 4 \n5\n6\n")).toBe("2 | 3 | 4 | 5 | 6");
  });

  it("leaves out codes and the credits line", () => {
    expect(lastLines(`${ESC}[31merror: no${ESC}[0m\n ▸ Credits: 0.07 • Time: 4s\n`)).toBe("error: no");
  });

  it("is the last 500 characters at most", () => {
    expect(lastLines(`${"x".repeat(1000)}end`)).toBe(`${"x".repeat(497)}end`);
  });
});
