const TITLES = {
  turns: "Turns",
  concurrency: "Turns at once",
  startup: "Starts",
  memory: "Memory",
  sessions: "50 open sessions",
  login: "A renewed login",
  workspace: "Large workspaces",
  copies: "Copies of a directory",
  hardening: "Hardening",
  egress: "Egress proxy",
  acp: "Codex over ACP",
  mcp: "MCP servers",
  hostile: "Hostile parties",
  load: "A fork bomb",
  log: "A log of 100,000 turns",
};

/** Facts that the figures need, in as few words as possible. */
const NOTES = {
  concurrency: "Median ms a turn:",
  startup: "To `tools/list`:",
  memory: "Resident, idle 15 s; containers by the engine:",
  copies:
    "A copy is filled before its container starts, and read before the answer. Eight hardened containers alone take 0.78 of `docker run` (`concurrency`); each of eight new sessions needs two, one of which is ready once as many began at once before:",
  hostile: "Others' turns, slowest pings and budgie's most memory meanwhile:",
  load: "Turns of another session, with the default limits:",
};

/** Returns the page of the results, in Markdown. */
export function toPage({ cases, machine }) {
  const sections = Object.entries(cases).map(([name, result]) => toSection(name, result));
  return `${[toHead(machine), ...sections].join("\n\n")}\n`;
}

function toHead({ cgroups, cores, date, engine, kernel, loadBefore, memoryGb, node, storage, system }) {
  return `# Performance

\`npm run bench -- all\` makes this page. On your machine:

\`\`\`sh
npm run bench -- turns   # a turn beside docker run; any other case below, which fails over its limits
npm run bench -- trace   # the engine's calls of a turn
\`\`\`

Medians, interleaved; spread: [results.json](../scripts/bench/results.json). The stand-in agent answers at once.

${date}: ${cores} cores, load ${loadBefore}, ${memoryGb} GB, ${system}, Linux ${kernel}, ${engine} (${storage}, cgroups ${cgroups}), Node ${node}.

![Turns beside docker run](performance.svg)`;
}

/** Returns the section of a case; `measured` says when it was, if not with the others. */
function toSection(name, { measured, rounds, rows }) {
  const times = `${rounds === 1 ? "" : `, ${rounds}×`}${measured === undefined ? "" : `, ${measured}`}`;
  const lines = [`## ${TITLES[name] ?? name}: \`${name}\`${times}`];
  if (NOTES[name] !== undefined) lines.push(NOTES[name]);
  return [...lines, name === "concurrency" ? toMatrix(rows) : toTable(rows)].join("\n\n");
}

/** Returns a table with a line for each side, and a column for each number of turns at once. */
function toMatrix(rows) {
  const sides = new Map();
  for (const { median, title } of rows) {
    const [, side, count] = /^(.*), (\d+) at once$/.exec(title);
    sides.set(side, [...(sides.get(side) ?? []), [count, median]]);
  }
  const counts = [...sides.values()][0]?.map(([count]) => count) ?? [];
  const lines = [...sides].map(([side, own]) => `|${side}|${own.map(([, median]) => median).join("|")}|`);
  return [`||${counts.join("|")}|`, `|-|${counts.map(() => "-|").join("")}`, ...lines].join("\n");
}

/** Returns a table without blanks around its cells, since a word limit counts them. */
function toTable(rows) {
  const hasRatios = rows.some(({ ratio }) => ratio !== undefined);
  // A base needs no row of its own: the ratios to it say as much.
  const shown = rows.filter(({ ratio, title }) => ratio !== undefined || !rows.some((row) => row.ratio?.to === title));
  const head = hasRatios ? ["||median|ratio|", "|-|-|-|"] : ["||median|", "|-|-|"];
  return [...head, ...shown.map((row) => toLine(row, hasRatios))].join("\n");
}

function toLine({ median, ratio, title, unit }, hasRatios) {
  const own = `|${title}|${median}&nbsp;${unit}|`;
  return hasRatios ? `${own}${ratio?.median ?? ""}|` : own;
}
