import { statSync } from "node:fs";
import { basename, extname, relative, resolve } from "node:path";
import { BudgieError, loadAgents } from "@budgie/core";
import { loadAgent } from "@budgie/core/agents";
import { isWithin } from "@budgie/core/policy";
import { escapeForTerminal } from "@budgie/core/text";
import { EXIT, type Host } from "@budgie/mcp-server";
import { acceptAgents } from "@budgie/mcp-server/commands";
import type { Config } from "../../config/config.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { createStyle } from "../../terminal/style.ts";
import { wrapText } from "../../terminal/wrap-text.ts";
import { agentLines } from "./agent-lines.ts";
import { collectFacts, type AgentFacts, type CheckedFile } from "./agent-facts.ts";

export type CheckOptions = {
  /** A file or a folder; default: the agents' folder */
  readonly path: string | undefined;
  readonly json: boolean;
};

type Checked = {
  readonly files: readonly AgentFacts[];
  /** The problems of the folder itself */
  readonly problems: readonly string[];
};

/** Runs `budgie agents check`: prints what budgie understands of agent files. Returns 1 if one of them cannot be used. */
export function checkAgents(config: Config, { json, path }: CheckOptions, host: Host): number {
  const target = path === undefined ? config.agentsDir : resolve(host.cwd, path);
  const checked = isFolder(target) ? checkFolder(target, config) : checkFile(target, config);
  host.stdout.write(json ? stringifySafely(checked) : formatReport(checked, host));
  const isSound = checked.problems.length === 0 && checked.files.every(({ kind }) => kind !== "unusable");
  return isSound ? EXIT.done : EXIT.failed;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const fault = code === "ENOENT" ? `There is no file or folder "${path}".` : `Cannot read "${path}" (${code}).`;
    throw new BudgieError("INPUT_INVALID", fault, { cause });
  }
}

function checkFolder(given: string, config: Config): Checked {
  const folder = resolve(given);
  const { agents, files, folderProblems: problems } = loadAgents({ agentsDir: folder, promptsDir: config.promptsDir });
  const { refusals } = acceptAgents(agents, config);
  const checked = [...files].map(([file, loaded]): CheckedFile => {
    const shown = relative(folder, file);
    const refusal = refusals.find((text) => text.endsWith(`"${file}" is left out.`))?.replaceAll(`${folder}/`, "");
    return { loaded, refusal, shown, place: { file, path: withoutExtension(shown) } };
  });
  return { files: checked.map((file) => collectFacts(file, config)), problems };
}

function checkFile(file: string, config: Config): Checked {
  if (![".json", ".md"].includes(extname(file))) {
    const message = `"${file}" is no agent file: their names end in .json or .md. Name one, or a folder of them.`;
    throw new BudgieError("INPUT_INVALID", message);
  }
  const folder = resolve(config.agentsDir);
  const place = { file, path: withoutExtension(isWithin(file, folder) ? relative(folder, file) : basename(file)) };
  const loaded = loadAgent(place, { promptsDir: config.promptsDir, isGone: false });
  return { files: [collectFacts({ loaded, place, shown: file }, config)], problems: [] };
}

function withoutExtension(file: string): string {
  return file.slice(0, -extname(file).length);
}

function formatReport({ files, problems }: Checked, host: Host): string {
  const output = { style: createStyle(host), columns: host.columns };
  const blocks = [
    ...files.map((facts) => agentLines(facts, output)),
    ...problems.map((text) => `${escapeForTerminal(text)}\n`),
  ];
  return [...blocks, `${wrapText(formatSummary(files), { ...output, indent: 0 })}\n`].join("\n");
}

function formatSummary(files: readonly AgentFacts[]): string {
  const count = (kind: AgentFacts["kind"]): number => files.filter((facts) => facts.kind === kind).length;
  const [agents, others, prompts, unusable] = (["agent", "other", "prompt", "unusable"] as const).map(count);
  return (
    `${formatAmount(files.length, "file")}: ${formatAmount(agents ?? 0, "agent")} for budgie, ${others} not for it, ` +
    `${formatAmount(prompts ?? 0, "prompt")}, ${unusable} that cannot be used.`
  );
}

function formatAmount(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
