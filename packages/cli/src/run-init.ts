import { existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { BudgieError, loadAgents } from "@budgie/core";
import { isKiros } from "@budgie/core/agents";
import { isWithin } from "@budgie/core/policy";
import { escapeForTerminal } from "@budgie/core/text";
import { EXIT, withFlags, type Host } from "@budgie/mcp-server";
import { acceptAgents } from "@budgie/mcp-server/commands";
import { findSqliteProblem } from "@budgie/store";
import { formatBuildTodo } from "./agents/build-todo.ts";
import type { Config } from "./config/config.ts";
import { hasPerson, isYes } from "./process/refuse-without-person.ts";
import { createStyle } from "./terminal/style.ts";
import {
  failureText,
  findingLines,
  isFailure,
  listSqliteFindings,
  withoutRepeats,
  type Finding,
} from "./commands/findings/finding.ts";
import { inspectCertificates } from "./commands/doctor/inspect-egress.ts";
import { inspectMachine } from "./commands/doctor/inspect-machine.ts";
import { listSandboxFindings } from "./commands/doctor/list-sandbox-findings.ts";
import { CLIENT_NAMES, CLIENTS, type ClientName } from "./commands/install/clients.ts";
import type { InitArguments } from "./commands/engine-commands.ts";
import { runAgent } from "./commands/run/run-agent.ts";
import { runBuildImage } from "./commands/run-build-image.ts";

export type InitOptions = InitArguments & {
  /** The server options of the command line, which clients' servers get too */
  readonly given: readonly string[];
  /** The configuration file, which need not exist */
  readonly file: string;
  /** Reads the configuration again */
  readonly reload: () => Config;
  /** Writes budgie into a client's configuration, with these options of the server, like `budgie install` */
  readonly install: (client: ClientName, args: readonly string[]) => Promise<number>;
};

/**
 * Runs `budgie init`: leads from an installed package to a first answer, in steps that each do only what is missing. Replaces nothing of the
 * user's. Resolves to the exit code of the step that failed, or to 0.
 */
export async function runInit(given: Config, options: InitOptions, host: Host): Promise<number> {
  const { config, exitCode } = await prepare(given, options, host);
  if (exitCode !== EXIT.done) return exitCode;
  const agent = findAgent(config, host) ?? writeAgent(config, host);
  const prompt = "Say in one sentence what is in this directory.";
  const directory = resolve(host.cwd, options.directory);
  say(host, "call", `budgie run ${agent} ${JSON.stringify(prompt)} -C ${JSON.stringify(directory)}`);
  const called = await runAgent(config, { agent, prompt, directory, continue: false, json: false }, host);
  return called === EXIT.done ? installClients(config, options, host) : called;
}

type Prepared = { readonly config: Config; readonly exitCode: number };

async function prepare(config: Config, options: InitOptions, host: Host): Promise<Prepared> {
  const { file, reload } = options;
  if (config.cluster === undefined) return { config, exitCode: await prepareSandbox(config, options, host) };
  const { prepareCluster } = await import("./commands/cluster/prepare-cluster.ts");
  const others = [...inspectDirectory(options, host), ...listSqliteFindings(findSqliteProblem())];
  const agreeTo = (question: string): Promise<boolean> => agree(question, options, host);
  return prepareCluster(config.cluster, { agree: agreeTo, file, others, reload }, host);
}

/** Checks directory, engine, image, login and the certificates of named hosts, and builds the image if nothing else is missing. */
async function prepareSandbox(config: Config, options: InitOptions, host: Host): Promise<number> {
  const facts = await inspectMachine(config, host);
  const machine = [
    ...inspectDirectory(options, host),
    ...listSandboxFindings(facts, config, host).filter(({ what }) => what !== "secrets"),
    ...listSqliteFindings(findSqliteProblem()),
  ];
  // A build takes minutes, and would be in vain if the user had to stop at the next step.
  const isImageAll = machine.filter(isFailure).every(({ what }) => what === "image");
  if (facts.engine.ok && !facts.image.ok && isImageAll && (await agreeToBuild(config, options, host))) {
    const built = await buildImage(config, host);
    return built === EXIT.done ? prepareSandbox(config, { ...options, yes: false }, host) : built;
  }
  // A call would fail at its certificates, and an agent may try for long.
  const certificates = await inspectCertificates(facts, config.policies.ceiling.egress, {
    caFile: config.caFile,
    callsKiro: true,
    host,
  });
  const findings = withoutRepeats([...machine, ...certificates]).map((finding) => ({
    ...finding,
    text: withFlags(finding.text),
  }));
  const style = createStyle(host);
  const sound = findings.filter(({ state }) => state === "ok");
  host.stdout.write(findingLines(sound, style, host.columns));
  if (!findings.some(isFailure)) return EXIT.done;
  host.stdout.write(failureText(findings, style, host.columns));
  host.stdout.write(AGAIN);
  return facts.engine.ok && facts.image.ok ? EXIT.failed : EXIT.unready;
}

const AGAIN = '\nThen run "budgie init" again.\n';

/** Refuses the home directory and what holds it, where a first command is often typed and no agent is let in. */
function inspectDirectory({ directory }: InitOptions, { cwd, home }: Host): readonly Finding[] {
  const path = resolve(cwd, directory);
  const [real, realHome] = [path, home].map((each) => (existsSync(each) ? realpathSync(each) : each)) as [
    string,
    string,
  ];
  if (!isWithin(realHome, real)) return [];
  const text = `"${path}" ${real === realHome ? "is" : "holds"} your home directory, which a sandbox is never given`;
  return [
    { state: "failed", what: "directory", text, todo: "cd PROJECT    # a folder of yours, below your home directory" },
  ];
}

function agreeToBuild({ sandboxImage }: Config, options: InitOptions, host: Host): Promise<boolean> {
  return agree(`There is no image "${sandboxImage}". Build it, which takes some minutes?`, options, host);
}

async function buildImage({ caFile, sandboxImage: tag }: Config, host: Host): Promise<number> {
  const build = { tag, caFile, buildArgs: [], context: undefined, presets: [], network: undefined };
  const built = await runBuildImage(build, host);
  const todo = formatBuildTodo({ image: tag, isThere: false });
  if (built !== EXIT.done) host.stdout.write(`\nTo do:\n  ${todo}    # once that is mended\n${AGAIN}`);
  return built;
}

/** Returns the name of an agent that can be called; `undefined` if there is none. */
function findAgent(config: Config, host: Host): string | undefined {
  const names = acceptAgents(loadAgents(config).agents, config)
    .agents.filter(isKiros)
    .map(({ name }) => name);
  if (names.length > 0) say(host, "agent", `${names.join(", ")}, in "${config.agentsDir}"`);
  return names.find((name) => name === FIRST_AGENT.name) ?? names[0];
}

/** The agent of somebody who has none. The README has it too. */
const FIRST_AGENT = {
  name: "code-reviewer",
  description: "sub-agent: Reviews code for bugs",
  tools: ["fs_read", "fs_write", "execute_bash"],
  allowedTools: ["fs_read", "fs_write"],
} as const;

function writeAgent({ agentsDir }: Config, host: Host): string {
  const file = join(agentsDir, `${FIRST_AGENT.name}.json`);
  mkdirSync(agentsDir, { recursive: true });
  if (existsSync(file)) {
    throw new BudgieError(
      "CONFIG_INVALID",
      `"${file}" is there, and is no agent that can be called: "budgie agents check" says why. Correct it, or write another.`,
    );
  }
  writeFileSync(file, `${JSON.stringify(FIRST_AGENT, undefined, 2)}\n`, { flag: "wx" });
  say(host, "agent", `wrote "${file}", your first: it reviews code`);
  return FIRST_AGENT.name;
}

/** Offers to write budgie into the configuration of each client that is used here. */
async function installClients({ allowRoot }: Config, options: InitOptions, host: Host): Promise<number> {
  const args = [...options.given, ...allowRoot.flatMap((root) => ["--allow-root", root])];
  const used = CLIENT_NAMES.filter((name) => existsSync(CLIENTS[name].toUserFile(host)));
  if (used.length === 0) {
    say(host, "client", `found none: "budgie install CLIENT" writes budgie into one of ${CLIENT_NAMES.join(", ")}`);
  }
  for (const name of used) {
    const agreed = await agree(`May ${CLIENTS[name].title} start budgie?`, options, host);
    if (!agreed) say(host, "client", `left ${CLIENTS[name].title} alone: "budgie install ${name}" adds budgie`);
    const installed = agreed ? await options.install(name, args) : EXIT.done;
    if (installed !== EXIT.done) return installed;
  }
  return EXIT.done;
}

/** Asks a person; without a terminal nobody agrees. */
async function agree(question: string, { yes }: InitOptions, host: Host): Promise<boolean> {
  if (yes) return true;
  if (!hasPerson(host)) return false;
  host.stdout.write(`${escapeForTerminal(question)} [y/N] `);
  return isYes(host);
}

function say(host: Host, what: string, text: string): void {
  const finding: Finding = { state: "ok", what, text: escapeForTerminal(text) };
  host.stdout.write(findingLines([finding], createStyle(host), host.columns));
}
