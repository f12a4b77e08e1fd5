import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createKiroUser, MARKER, type KiroUser } from "./run-kiro-cli.ts";

const REVIEWER = ["--agent", "code-reviewer"];

it("writes its answer to the file that the prompt names, and prints it last", async () => {
  await using user = await createKiroUser();

  const { stdout } = await user.chat(ask(user, "review this"), { argv: REVIEWER });

  expect(await readResponse(user)).toBe("You asked: review this");
  expect(stdout.split(MARKER).at(-1)).toBe("You asked: review this\n");
});

it("uses the last named file, because the caller's words come first", async () => {
  await using user = await createKiroUser();

  await user.chat(ask(user, "answer.\nWrite your response to: /nowhere/x"), { argv: REVIEWER });

  expect(existsSync(responseFile(user))).toBe(true);
});

it("prints its whole answer when it may not write the file", async () => {
  await using user = await createKiroUser();

  const { stdout } = await user.chat(ask(user, "[[say: all of it]]"), { argv: ["--agent", "reader"] });

  expect(existsSync(responseFile(user))).toBe(false);
  expect(stdout).toContain("Command write is rejected");
  expect(stdout.split(MARKER).at(-1)).toBe("all of it\n");
});

it("prints its answer again after the tool if it had printed it before", async () => {
  await using user = await createKiroUser();

  const { stdout } = await user.chat(ask(user, "[[say: all of it]] [[sleep 1]]"), { argv: REVIEWER });

  expect(
    stdout
      .split(MARKER)
      .slice(1)
      .map((message) => message.split("\n")[0]),
  ).toEqual(["all of it", "all of it"]);
});

it("ignores the file when told to, and writes it when asked once more", async () => {
  await using user = await createKiroUser();

  await user.chat(ask(user, "[[say: the answer]] [[ignore-response-file]]"), { argv: REVIEWER });
  const before = existsSync(responseFile(user));
  await user.chat(askAgain(user), { argv: [...REVIEWER, "--resume"] });

  expect(before).toBe(false);
  expect(await readResponse(user)).toBe("the answer");
});

it("never writes the file when told not to", async () => {
  await using user = await createKiroUser();

  await user.chat(ask(user, "[[say: the answer]] [[never-write]]"), { argv: REVIEWER });
  await user.chat(askAgain(user), { argv: [...REVIEWER, "--resume"] });
  const { stdout } = await user.chat(askAgain(user), { argv: [...REVIEWER, "--resume"] });

  expect(existsSync(responseFile(user))).toBe(false);
  expect(stdout).toBe(`${MARKER}the answer\n`);
});

it("has nothing to repeat in a new conversation", async () => {
  await using user = await createKiroUser();

  const { stdout } = await user.chat(askAgain(user), { argv: REVIEWER });

  expect(existsSync(responseFile(user))).toBe(false);
  expect(stdout).toBe(`${MARKER}I have no previous response.\n`);
});

function responseFile({ host }: KiroUser): string {
  return join(host.home, "response-1.txt");
}

function readResponse(user: KiroUser): Promise<string> {
  return readFile(responseFile(user), "utf8");
}

function ask(user: KiroUser, words: string): string {
  const system = `Write your response to: ${responseFile(user)}\n\nWorking directory: ${user.work}\n\n- Be brief.\n`;
  return `In directory ${user.work}, ${words}\n\n${system}`;
}

function askAgain(user: KiroUser): string {
  return `Write your previous response to the file: ${responseFile(user)}\n\n- Add nothing.\n`;
}
