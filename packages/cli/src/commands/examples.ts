import type { Command } from "commander";

/** The example of each command's help, without the name of the program. */
export const EXAMPLES: Readonly<Record<string, string>> = {
  init: "init --yes",
  install: "install claude -- --sandbox",
  uninstall: "uninstall claude",
  "build-image": "build-image --with codex --tag budgie-codex:latest",
  image: "image show",
  "image show": "image show ~/code/shop",
  "image allow": "image allow ~/code/shop",
  "image deny": "image deny ~/code/shop",
  "image build": "image build ~/code/shop",
  doctor: "doctor --prove",
  serve: "serve --sandbox --allow-preset npm",
  agents: "agents",
  "agents add": "agents add codex",
  "agents check": "agents check ~/.kiro/agents",
  "agents ls": "agents ls --json",
  mcp: "mcp",
  "mcp ls": "mcp ls --agent code-reviewer",
  "mcp tools": "mcp tools github",
  "mcp call": `mcp call github get_issue '{"number": 7}'`,
  "mcp allow": "mcp allow github",
  "config trust": "config trust ~/.kiro/agents/worker.json",
  "mcp login": "mcp login github --timeout 10m",
  "mcp logout": "mcp logout github",
  "mcp logs": "mcp logs github",
  "list-tools": "list-tools --json",
  egress: "egress",
  "egress ls": "egress ls --json",
  "egress explain": "egress explain code-reviewer",
  "egress suggest": "egress suggest --last 5",
  run: 'run code-reviewer "Review the last commit" -C ~/code/app',
  exec: "exec code-reviewer -- npm test",
  shell: "shell code-reviewer -C ~/code/app",
  ps: "ps --json",
  logs: "logs --follow",
  stop: "stop 9a60c3de",
  runs: "runs",
  "runs ls": "runs ls --agent code-reviewer --last 5",
  "runs show": "runs show 9a60c3de",
  "runs rm": "runs rm --older-than 7d",
  sessions: "sessions",
  "sessions ls": "sessions ls --json",
  "sessions rm": "sessions rm 5e3b3a0c",
  "sessions export": "sessions export 5e3b3a0c home.tar",
  gc: "gc --dry-run",
  config: "config show",
  "config show": "config show --config budgie.json",
  "config set": "config set agents.code-reviewer.timeout 5m",
  "config unset": "config unset agents.code-reviewer",
  "config schema": "config schema",
  completion: "completion bash",
  help: "help runs ls",
  version: "version",
};

/** Adds its example to the help of each command below this one. */
export function addExamples(command: Command, path: readonly string[] = []): void {
  const example = EXAMPLES[path.join(" ")];
  if (example !== undefined) command.addHelpText("after", `\nExample: budgie ${example}`);
  for (const child of command.commands) addExamples(child, [...path, child.name()]);
}
