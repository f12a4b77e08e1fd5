import { Argument, type Command, type Option } from "commander";
import { listChoices, OPTION_KEYS } from "../options/config-schema.ts";
import type { Host } from "@budgie/mcp-server";
import { findSubcommand, listSubcommands } from "./help-commands.ts";

/** A word that completes a line, and a description of it. */
export type Word = readonly [word: string, about?: string];

/** Lists of words for arguments and values, by the name of the argument, or by the command's and its name. */
export type CompletionWords = Readonly<Record<string, () => readonly Word[] | Promise<readonly Word[]>>>;

/** Adds `budgie completion`, and the hidden command that its scripts ask for words. */
export function addCompletion(program: Command, words: CompletionWords, host: Host): void {
  program
    .command("completion")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(SCRIPTS)))
    .summary("print a completion script for bash, zsh or fish")
    .description("print a completion script; for bash: source <(budgie completion bash)")
    .action((shell: keyof typeof SCRIPTS) => void host.stdout.write(SCRIPTS[shell]));
  program
    .command("__complete", { hidden: true })
    .argument("[words...]")
    .action(async (line: readonly string[]) => {
      const found = await complete(program, line, words);
      host.stdout.write(found.map((word) => `${word.join("\t")}\n`).join(""));
    });
}

const SCRIPTS = {
  bash: `_budgie() {
  local IFS=$'\\n'
  COMPREPLY=($(budgie __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o default -F _budgie budgie
`,
  zsh: `#compdef budgie
_budgie() {
  local -a lines found shown
  lines=("\${(@f)$(budgie __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("\${(@)lines%%$'\\t'*}")
  shown=("\${(@)lines/$'\\t'/  -- }")
  if [[ -n "$lines" ]]; then compadd -l -d shown -- $found; else _files; fi
}
compdef _budgie budgie
`,
  fish: `function __budgie_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found (budgie __complete -- $words[2..] 2>/dev/null)
  if set -q found[1]; printf '%s\\n' $found; else; __fish_complete_path (commandline -ct); end
end
complete -c budgie -f -a '(__budgie_complete)'
`,
} as const;

/** Returns the completions of a command line's last word. Without any, a shell completes files. */
async function complete(program: Command, line: readonly string[], words: CompletionWords): Promise<readonly Word[]> {
  const before = line.slice(0, -1);
  const current = line.at(-1) ?? "";
  const { argument, command } = findPlace(program, before);
  const options = listOptions(program, command);
  // A shell would interpret other characters of a name.
  const isStarted = ([word]: Word): boolean => word.startsWith(current) && /^[\w.-]+$/.test(word);
  const listWords = async (name = ""): Promise<readonly Word[]> =>
    (await (words[`${command.name()} ${name}`] ?? words[name])?.()) ?? [];
  const valued = findValued(options, before.at(-1));
  if (valued !== undefined) {
    return [...toWords(choicesOf(valued)), ...(await listWords(valued.name()))].filter(isStarted);
  }
  if (current.startsWith("-")) {
    return unique(options.flatMap(({ description, long }): Word[] => (long ? [[long, description]] : []))).filter(
      isStarted,
    );
  }
  const plain = [
    ...toWords(listSubcommands(command)),
    ...toWords(argument?.argChoices ?? []),
    ...(await listWords(argument?.name())),
  ];
  return unique(plain).filter(isStarted);
}

function unique(words: readonly Word[]): readonly Word[] {
  return [...new Map(words.map((word) => [word[0], word])).values()];
}

function toWords(names: readonly string[]): readonly Word[] {
  return names.map((name) => [name]);
}

/** Lists the values of an option: those of a command's own, or of the table of options. */
function choicesOf(option: Option): readonly string[] {
  const key = OPTION_KEYS.find((each) => each === option.attributeName());
  return option.argChoices ?? (key === undefined ? [] : listChoices(key));
}

type Cursor = { readonly command: Command; readonly argument: Argument | undefined };

/** Finds the innermost command that words name, and the argument that comes next. */
function findPlace(program: Command, line: readonly string[]): Cursor {
  let [command, operands] = [program, 0];
  for (const [index, word] of line.entries()) {
    if (findValued(listOptions(program, command), line[index - 1]) !== undefined) continue;
    const child = findSubcommand(command, word);
    if (child !== undefined && operands === 0) command = child;
    else if (!word.startsWith("-")) operands += 1;
  }
  const { registeredArguments } = command;
  return { command, argument: registeredArguments[Math.min(operands, registeredArguments.length - 1)] };
}

/** Lists the options that a command accepts, those of the server included. */
function listOptions(program: Command, command: Command): readonly Option[] {
  return [...new Set([command, program])].flatMap((each) => each.createHelp().visibleOptions(each));
}

/** Finds the option that a word names, if its value is the word after it. */
function findValued(options: readonly Option[], word: string | undefined): Option | undefined {
  return options.find(({ long, required, short }) => required && word !== undefined && [long, short].includes(word));
}
