import { isExitError } from "./profile/exit-error.ts";
import { loadSettings, type Settings } from "./profile/settings.ts";

/** Runs the stand-in. Each command imports its modules, so that `--version` starts fast and opens no database. */
async function main(argv: readonly string[]): Promise<void> {
  const settings = loadSettings(process.env);
  // The harness may also be named before the command.
  const [first = "chat", ...others] = argv;
  const isHarness = first === "--v2" || first === "--v3";
  const [command = "chat", ...rest] = isHarness ? [...others, first] : [first, ...others];
  if (command === "-V" || command === "--version") process.stdout.write(`kiro-cli ${settings.traits.version}\n`);
  else await runCommand(command, rest, settings);
}

async function runCommand(command: string, rest: readonly string[], settings: Settings): Promise<void> {
  switch (command) {
    case "acp":
    case "chat":
      return startAgent(command, rest, settings);
    case "whoami":
      return (await import("./whoami.ts")).whoami(settings);
    case "-h":
    case "--help":
    case "help":
      return printHelp(settings);
    default:
      throw (await import("./parse-arguments.ts")).toUsageError(`unrecognized subcommand '${command}'`);
  }
}

/** Runs a command that starts an agent. The first engine does not have `acp`. */
async function startAgent(command: "acp" | "chat", argv: readonly string[], given: Settings): Promise<void> {
  const { parseArguments, toUsageError } = await import("./parse-arguments.ts");
  if (command === "acp" && given.traits.acp === undefined) throw toUsageError("unrecognized subcommand 'acp'");
  const args = parseArguments(command, argv, given);
  const settings = { ...given, harness: args.harness };
  if (args.help) return printHelp(settings);
  if (command === "acp") return (await import("./acp.ts")).acp(args, settings);
  return (await import("./chat.ts")).chat(args, settings);
}

async function printHelp(settings: Settings): Promise<void> {
  return (await import("./print-help.ts")).printHelp(settings);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  if (!isExitError(error)) throw error;
  if (error.message !== "") process.stderr.write(`${error.message}\n`);
  process.exit(error.exitCode);
});
