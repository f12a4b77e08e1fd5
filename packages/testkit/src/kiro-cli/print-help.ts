import { write } from "./output/output.ts";
import type { Settings } from "./profile/settings.ts";

const HELP = `A stand-in for kiro-cli, scripted by its prompt

Usage: kiro-cli [COMMAND]

Commands:
  acp      Serves the Agent Client Protocol
  chat     AI assistant in your terminal
  whoami   Prints details about the current user

Options:
  -h, --help     Print help
  -V, --version  Print version
`;

const HARNESSES = `      --agent-engine <ENGINE>  Harness that runs the agent [possible values: v2, v3]
      --v2                     Runs the V2 harness
      --v3                     Runs the V3 harness
`;

/** Prints the text of `kiro-cli --help`, which is also that of each command. */
export function printHelp({ traits }: Settings): Promise<void> {
  return write(process.stdout, traits.hasV3 ? HELP + HARNESSES : HELP);
}
