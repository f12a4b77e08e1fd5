import { PassThrough } from "node:stream";
import { ERROR_CODES } from "../../packages/core/dist/index.js";
import { runCli } from "../../packages/cli/dist/run-cli.js";
import { toFlag, toVariable } from "../../packages/cli/dist/options/format-option-name.js";

/** The pages that the program itself writes: its options, its commands, its error codes. They need a build. */
export default {
  paths: async () => [
    { params: { page: "options" }, content: await toOptions() },
    { params: { page: "commands" }, content: await toCommands() },
    { params: { page: "error-codes" }, content: toErrorCodes() },
  ],
};

async function toOptions() {
  const { properties } = JSON.parse(await run(["config", "schema"]));
  const sections = Object.entries(properties)
    .filter(([key]) => key !== "$schema")
    .map(([key, { description = "", default: value, enum: values }]) =>
      [
        `## ${key}`,
        "",
        `\`${toFlag(key)}\`, \`${toVariable(key)}\``,
        "",
        escape(description),
        ...(values === undefined ? [] : ["", `One of ${values.map((one) => `\`${one}\``).join(", ")}.`]),
        ...(value === undefined ? [] : ["", `Default: \`${JSON.stringify(value)}\``]),
        "",
      ].join("\n"),
    );
  return `# Options\n\nEach is a flag, a variable, and a key of the file of \`--config\`. An option comes before its variable, and both before the file.\n\n${sections.join("\n")}`;
}

async function toCommands() {
  const commands = await listCommands([]);
  const texts = commands.map(({ help, words }) => `## budgie ${words.join(" ")}\n\n\`\`\`text\n${help}\`\`\`\n`);
  return `# Commands\n\n${texts.join("\n")}`;
}

/** Lists the commands below one, each with its own below it, and their help. */
async function listCommands(words) {
  const help = await run([...words, "--help"]);
  const parts = help
    .split(/\n\n(?=[A-Z].*:\n)/)
    .filter((part) => !/^(?:Arguments|Examples?|Options|.*options.*):\n/.test(part));
  const names = [...parts.join("\n").matchAll(/^ {2}([a-z][\w-]*)(?:\|[\w-]+)?(?: .*)?$/gm)].map(([, name]) => name);
  // These have no help of their own.
  const own = names.filter((name) => !["help", "version"].includes(name));
  const below = [];
  for (const name of words.length < 2 ? own : []) below.push(...(await listCommands([...words, name])));
  return words.length === 0 ? below : [{ words, help }, ...below];
}

function toErrorCodes() {
  const rows = ERROR_CODES.map((code) => `## ${code}\n\n[Cause and remedy](/errors#${code.toLowerCase()})\n`);
  return `# Error codes\n\n${rows.join("\n")}`;
}

/** Runs a command that only prints, for a user without settings. */
async function run(argv) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const host = {
    env: { HOME: "/", NO_COLOR: "1" },
    home: "/",
    cwd: "/",
    platform: "linux",
    columns: 100,
    stdout,
    stderr,
    report: () => undefined,
  };
  await runCli(argv, host);
  return String(stdout.read() ?? "");
}

/** Escapes what Vue would read as a tag or an expression. */
function escape(text) {
  return text.replaceAll("<", "&lt;").replaceAll("{{", "&#123;&#123;");
}
