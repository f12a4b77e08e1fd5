import { BudgieError } from "@budgie/core";
import { escapeForTerminal, truncateText } from "@budgie/core/text";
import { formatSshHost, type SshHost } from "./parse-ssh-host.ts";

/** The end of an ssh process. */
export type SshEnd = {
  readonly exitCode: number | null;
  /** The end of its stderr, which the other machine writes too */
  readonly said: string;
};

const QUOTED_CHARACTERS = 200;

/** Returns the error of a connection that ssh, or `docker` on the other machine, did not make or did not keep. */
export function toSshError(host: SshHost, { exitCode, said }: SshEnd): BudgieError {
  const target = formatSshHost(host);
  const { advice } = PROBLEMS.find((problem) => problem.isIt(said, exitCode)) ?? OTHER;
  const quoted = quoteLastLine(said);
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `Cannot reach the engine by "ssh ${target}": ${advice(target)}` +
      (quoted === "" ? ` It ended with exit code ${exitCode ?? "none"}.` : ` It said "${quoted}".`),
  );
}

/** Returns the error of an ssh that did not start. */
export function noSshError(host: SshHost, cause: Error): BudgieError {
  const code = (cause as NodeJS.ErrnoException).code ?? cause.message;
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `Cannot reach the engine by "ssh ${formatSshHost(host)}": the program ssh did not start (${code}). Install OpenSSH's client.`,
    { cause },
  );
}

type Problem = {
  readonly isIt: (said: string, exitCode: number | null) => boolean;
  readonly advice: (target: string) => string;
};

const says =
  (pattern: RegExp): Problem["isIt"] =>
  (said) =>
    pattern.test(said);

// The wording of OpenSSH, and of docker's and Podman's clients. The first that fits counts.
const PROBLEMS: readonly Problem[] = [
  {
    isIt: says(/HOST IDENTIFICATION HAS CHANGED/),
    advice: (target) => `its host key has changed. Find out why, then correct your known_hosts with "ssh ${target}".`,
  },
  {
    isIt: says(/Host key verification failed|No \S+ host key is known/),
    advice: (target) => `its host key is unknown. Run "ssh ${target}" once in a terminal, and accept the key.`,
  },
  {
    isIt: says(/permission denied while trying to connect to the docker|dial unix \S+: connect: permission denied/i),
    advice: () => "that user may not use the engine there. Add it to the group docker there.",
  },
  {
    isIt: says(/Permission denied/),
    advice: (target) =>
      `it accepts none of your keys. Make "ssh ${target}" work without a password, such as with ssh-agent.`,
  },
  {
    isIt: says(/dial-stdio/),
    advice: () => "its docker has no dial-stdio. Install Docker's own client there, 18.09 or later.",
  },
  {
    isIt: (said, exitCode) => exitCode === 127 || /docker: (?:command )?not found/.test(said),
    advice: () => "there is no docker on the PATH of that user's commands. Install Docker's client there.",
  },
  {
    isIt: says(/Could not resolve hostname/),
    advice: () => "there is no such host. Check the name, and ~/.ssh/config.",
  },
  {
    isIt: says(/Cannot connect to the Docker daemon|failed to connect to the docker API/i),
    advice: () => "no engine answers there. Start it there.",
  },
];

const OTHER: Problem = {
  isIt: () => true,
  advice: (target) => `the connection failed. Make "ssh ${target} docker version" work in a terminal.`,
};

function quoteLastLine(said: string): string {
  const line = said.split("\n").findLast((one) => one.trim() !== "") ?? "";
  return truncateText(escapeForTerminal(line.trim()), QUOTED_CHARACTERS);
}
