import type { Host } from "./host.ts";

/** Lists the variables that budgie's entry in its client's configuration sets, without those that are not for agents. */
export function listEntryVariables(env: Host["env"], clientEnv: Host["env"] | undefined): readonly string[] {
  if (clientEnv === undefined) return [];
  return Object.keys(env).filter((name) => env[name] !== clientEnv[name] && isForAgents(name));
}

function isForAgents(name: string): boolean {
  return !NOT_FOR_AGENTS.test(name) && !REDIRECTING.test(name);
}

// Kiro's variables that choose its harness, folders, programs or services. Only --env passes one on.
const REDIRECTING = /^(?:AMAZON_Q_|KAS_|KIRO_(?!API_KEY$|DISABLE_TELEMETRY$|LOG_LEVEL$|LOG_NO_COLOR$|NO_AUTO_UPDATE$))/;

// budgie's own, those of launchers and shells, and those that change how a program is loaded
const NOT_FOR_AGENTS =
  /^(?:(?:BUDGIE|DYLD|ELECTRON|LD|npm)_.*|_|COLOR|EDITOR|INIT_CWD|NODE|NODE_OPTIONS|NODE_PATH|OLDPWD|PWD|SHLVL)$/;

const MOST_NAMED = 5;

/** Returns a line with the names of variables that agents do not get and may miss; none if there are none. */
export function findLeftOutNotice(env: Host["env"], passed: Readonly<Record<string, string>>): readonly string[] {
  const isMissed = (name: string): boolean => MISSED.test(name) || /^(?:KAS|KIRO)_\w+$/.test(name);
  const names = Object.keys(env).filter((name) => !(name in passed) && isMissed(name) && !NOT_FOR_AGENTS.test(name));
  if (names.length === 0) return [];
  const rest = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
  const named = names.toSorted().slice(0, MOST_NAMED).join(", ");
  return [`Agents do not get these variables: ${named}${rest}. Pass on what they need with --env NAME.`];
}

// Most others describe a terminal or a desktop.
const MISSED =
  /^(?:SSH_AUTH_SOCK|KUBECONFIG|VIRTUAL_ENV|PYTHONPATH|GOPATH|(?:AWS|AZURE|DOCKER|GH|GITHUB|GITLAB|GOOGLE|NPM)_\w+|\w+_(?:HOME|KEY|PASSWORD|SECRET|TOKEN|URL))$/;
