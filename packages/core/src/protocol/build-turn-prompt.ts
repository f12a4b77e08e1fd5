import { BudgieError } from "../errors.ts";
import { readPlainFile } from "../text/read-plain-file.ts";

/** The paths of the two prompts that budgie adds to a turn. They are read at every use, so that edits need no restart. */
export type PromptFiles = {
  /** The text that is appended to every prompt */
  readonly system: string;
  /** The prompt that asks for the answer once more, as a file */
  readonly contextSummary: string;
};

/** The values of the placeholders: paths as the agent sees them. */
export type PromptPaths = {
  /** `undefined` for an agent that cannot write files */
  readonly responseFile: string | undefined;
  readonly workspace: string;
};

const BUILT_IN: PromptFiles = {
  system: `Write your response to: {{RESPONSE_FILE}}

Working directory: {{WORKING_DIRECTORY}}

- Do the work in the working directory; the response file is only for your answer.
- The response is plain text for another program: no Markdown, no colors, no icons.
- Say what you found or did, and what is left. Leave out how you got there.
`,
  contextSummary: `Write your previous response to the file: {{RESPONSE_FILE}}

- Repeat the answer itself; add nothing and do no further work.
- Plain text for another program: no Markdown, no colors, no icons.
`,
};

/** Assembles the prompt of a turn. It begins with a word, so that Kiro does not read it as a flag or a command. */
export function buildTurnPrompt(prompt: string, files: PromptFiles, paths: PromptPaths): string {
  const system = loadTemplate(files.system, BUILT_IN.system);
  return `In directory ${paths.workspace}, ${prompt}\n\n${fillIn(system, paths)}`;
}

/** Assembles the prompt that asks an agent to put its last answer into the response file. */
export function buildSummaryPrompt(files: PromptFiles, paths: PromptPaths): string {
  const summary = fillIn(loadTemplate(files.contextSummary, BUILT_IN.contextSummary), paths);
  // A user's template may begin with a character that Kiro reads as a command, or strips before one.
  return /^\p{L}/u.test(summary) ? summary : `In directory ${paths.workspace}: ${summary}`;
}

function loadTemplate(path: string, builtIn: string): string {
  try {
    return readPlainFile(path).text;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return builtIn;
    throw new BudgieError(
      "CONFIG_INVALID",
      `Cannot read the prompt file "${path}" (${code ?? message}). Make it readable, or remove it to use the built-in prompt.`,
      { cause: error },
    );
  }
}

function fillIn(template: string, { responseFile, workspace }: PromptPaths): string {
  // Asked for a file that it may not write, an agent tries anyway, and some versions of Kiro then end the turn without an answer.
  const text = responseFile === undefined ? template.replace(/^.*\{\{RESPONSE_FILE\}\}.*\n?/gm, "") : template;
  return text.replace(/\{\{(RESPONSE_FILE|WORKING_DIRECTORY)\}\}/g, (_whole, name) =>
    name === "RESPONSE_FILE" ? (responseFile ?? "") : workspace,
  );
}
