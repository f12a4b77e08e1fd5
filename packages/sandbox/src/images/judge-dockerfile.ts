/** Lists the reasons why a Dockerfile of a project is not built; none if it may be. */
export function judgeDockerfile(text: string): readonly string[] {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  if (text.length > LARGEST_CHARACTERS) return ["it is larger than 64 KiB"];
  return [...new Set([...judgeText(text, lines), ...listInstructions(lines).flatMap(judgeInstruction)])];
}

const LARGEST_CHARACTERS = 64 * 2 ** 10;

function judgeText(text: string, lines: readonly string[]): readonly string[] {
  const directive = lines.map((line) => /^\s*(?:#|\/\/)\s*(syntax|escape)\s*=/i.exec(line)?.[1]?.toLowerCase());
  return [
    ...(directive.includes("syntax")
      ? [`"# syntax=" names another program that would read it: leave that line out`]
      : []),
    ...(directive.includes("escape") ? [`"# escape=" changes how it is read: leave that line out`] : []),
    // A terminal does not show these, and they could be an instruction.
    ...(/[^\P{C}\t\n\r]|\r(?!\n)/u.test(text.replace(/^\uFEFF/, "")) ? ["it has invisible characters"] : []),
    ...(text.includes("\uFFFD") ? ["it is not UTF-8"] : []),
  ];
}

/** Returns the instructions of a Dockerfile's lines, each as one line, without comments. */
export function listInstructions(lines: readonly string[]): readonly string[] {
  const instructions: string[] = [];
  let begun = "";
  for (const line of lines) {
    if (/^\s*#/.test(line) || (begun !== "" && line.trim() === "")) continue;
    const [, continued] = /^(.*)\\[ \t]*$/.exec(line) ?? [];
    if (continued !== undefined) {
      begun += `${continued} `;
      continue;
    }
    instructions.push((begun + line).trim());
    begun = "";
  }
  return [...instructions, begun.trim()].filter((instruction) => instruction !== "");
}

const KNOWN =
  /^(?:ADD|ARG|CMD|COPY|ENTRYPOINT|ENV|EXPOSE|FROM|HEALTHCHECK|LABEL|MAINTAINER|ONBUILD|RUN|SHELL|STOPSIGNAL|USER|VOLUME|WORKDIR)$/;

function judgeInstruction(instruction: string): readonly string[] {
  const keyword = firstWord(instruction);
  const rest = instruction.slice(keyword.length).trimStart();
  const name = keyword.toUpperCase();
  if (!KNOWN.test(name)) return [`it has the unknown instruction ${JSON.stringify(keyword.slice(0, 40))}`];
  return JUDGES[name]?.(rest) ?? [];
}

const JUDGES: Readonly<Record<string, (rest: string) => readonly string[]>> = {
  ONBUILD: judgeInstruction,
  RUN: judgeRun,
  ADD: (rest) => judgeCopy("ADD", rest),
  COPY: (rest) => judgeCopy("COPY", rest),
  ARG: (rest) => (/BUILDKIT_/i.test(rest) ? [`"ARG BUILDKIT_..." directs the builder: leave it out`] : []),
  FROM: (rest) => (/^--(?!platform=)/.test(rest) ? [`"FROM ${shorten(rest)}" is not supported`] : []),
};

function judgeRun(rest: string): readonly string[] {
  return [
    // Mounts of secrets, of ssh and of folders, the host's network and more rights all begin so.
    ...(rest.startsWith("--")
      ? [`"RUN ${shorten(rest)}" is not supported: RUN gets no mounts, networks or rights`]
      : []),
    ...(/<<-?\s*["']?\w/.test(rest) ? ["it has a here-document, which reads the lines below as something else"] : []),
  ];
}

function judgeCopy(name: string, rest: string): readonly string[] {
  const flags =
    rest
      .match(/^(?:--\S+\s+)*/)?.[0]
      .trim()
      .split(/\s+/)
      .filter(Boolean) ?? [];
  const bad = flags.find((flag) => !/^--(?:chown|chmod|from)=/.test(flag));
  const isRemote = name === "ADD" && /:\/\/|git@|\$/.test(rest);
  return [
    ...(bad === undefined ? [] : [`"${name} ${bad.slice(0, 60)}" is not supported`]),
    // The engine fetches it in this machine's own network.
    ...(isRemote ? ['"ADD" of an address or a variable is not supported: use curl in RUN'] : []),
    ...(/<<-?\s*["']?\w/.test(rest) ? ["it has a here-document, which reads the lines below as something else"] : []),
    ...(/(?:^|[\s"'[,/])\.\.(?:[/\s"',\]]|$)/.test(rest) ? [`"${name}" names "..": only its own folder is there`] : []),
  ];
}

function firstWord(text: string): string {
  return /^\S+/.exec(text)?.[0] ?? "";
}

function shorten(text: string): string {
  return firstWord(text).slice(0, 60);
}
