/** Returns the tools that Kiro knows for those of a file, once each. A tool that is allowed in part is among those only if `partly`. */
export function listKiroTools(written: readonly string[], { partly }: { readonly partly: boolean }): readonly string[] {
  const names = written.map(toToolName).filter(({ isPartial }) => partly || !isPartial);
  return [...new Set(names.flatMap(({ kiros }) => kiros ?? []))];
}

type ToolName = {
  /** `undefined` if Kiro has no such tool */
  readonly kiros: string | undefined;
  /** True if the file allows only some uses of it, such as `Bash(git diff)`, which no list of tools can say */
  readonly isPartial: boolean;
};

/** Translates a tool's name: Claude Code's become Kiro's tags, and all others stay. */
function toToolName(written: string): ToolName {
  const { name, uses } = /^(?<name>[^\s()]+)\s*(?:\((?<uses>[^()]*)\))?$/.exec(written)?.groups ?? {};
  if (name === undefined) return { kiros: written, isPartial: false };
  return { kiros: toKiroTool(name), isPartial: !["", "*", ":*"].includes(uses?.trim() ?? "") };
}

function toKiroTool(name: string): string | undefined {
  if (name.startsWith("mcp__")) {
    const [server = "", ...tool] = name.slice("mcp__".length).split("__");
    return tool.length === 0 || tool[0] === "*" ? `@${server}` : `@${server}/${tool.join("__")}`;
  }
  const tag = KIROS.has(name) ? name : (CLAUDES.get(name.toLowerCase()) ?? name);
  return tag === NONE ? undefined : tag;
}

const NONE = "";

// Spelled like Claude Code's but for the case.
const KIROS: ReadonlySet<string> = new Set(["glob", "grep", "read", "write"]);

// In lower case, since people write them in any.
const CLAUDES: ReadonlyMap<string, string> = new Map([
  ["bash", "shell"],
  ["bashoutput", "shell"],
  ["killbash", "shell"],
  ["killshell", "shell"],
  ["read", "read"],
  ["grep", "read"],
  ["glob", "read"],
  ["write", "write"],
  ["edit", "write"],
  ["multiedit", "write"],
  ["notebookedit", "write"],
  ["ls", "read"],
  ["notebookread", "read"],
  ["webfetch", "web"],
  ["websearch", "web"],
  ["task", "subagent"],
  ["agent", "subagent"],
  ...["askuserquestion", "enterplanmode", "exitplanmode", "skill", "slashcommand", "todoread", "todowrite"].map(
    (name) => [name, NONE] as const,
  ),
]);
