import { write } from "./output/output.ts";

const HELP = `A stand-in for kiro-cli, scripted by its prompt

Usage: kiro-cli [COMMAND]

Commands:
  acp      Serves the Agent Client Protocol
  chat     AI assistant in your terminal
  agent    Agent root commands
  whoami   Prints details about the current user

Options:
  -h, --help     Print help
  -V, --version  Print version
`;

/** Prints the text of `kiro-cli --help`. */
export function printHelp(): Promise<void> {
  return write(process.stdout, HELP);
}
