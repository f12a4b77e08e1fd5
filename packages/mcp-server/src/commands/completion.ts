import { Argument, type Command, type Option } from "commander";
import type { Host } from "../process/host.ts";
import { findSubcommand, listSubcommands } from "./help-commands.ts";

/** Lists of words for arguments, by the name of the argument. */
export type CompletionWords = Readonly<Record<string, () => readonly string[]>>;

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
    .action((line: readonly string[]) => {
      const found = complete(program, line, { ...words, shell: () => Object.keys(SCRIPTS) });
      host.stdout.write(found.map((word) => `${word}\n`).join(""));
    });
}

const SCRIPTS = {
  bash: `_budgie() {
  local IFS=$'\\n'
  COMPREPLY=($(budgie __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _budgie budgie
`,
  zsh: `#compdef budgie
_budgie() {
  local -a found
  found=("\${(@f)$(budgie __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -- $found; else _files; fi
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
function complete(program: Command, line: readonly string[], words: CompletionWords): readonly string[] {
  const before = line.slice(0, -1);
  const current = line.at(-1) ?? "";
  const { argument, command } = findPlace(program, before);
  const options = listOptions(program, command);
  // A shell would interpret other characters of a name.
  const isStarted = (word: string): boolean => word.startsWith(current) && /^[\w.-]+$/.test(word);
  const listWords = (name = ""): readonly string[] => words[name]?.() ?? [];
  const valued = findValued(options, before.at(-1));
  if (valued !== undefined) return listWords(valued.name()).filter(isStarted);
  const plain = [...listSubcommands(command), ...listWords(argument?.name())];
  const candidates = current.startsWith("-") ? options.flatMap(({ long }) => long ?? []) : plain;
  return [...new Set(candidates)].filter(isStarted);
}

type Place = { readonly command: Command; readonly argument: Argument | undefined };

/** Finds the innermost command that words name, and the argument that comes next. */
function findPlace(program: Command, line: readonly string[]): Place {
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
