import type { Host } from "@budgie/mcp-server";
import { BudgieError } from "@budgie/core";
import { CLIENTS, type Scope } from "./clients.ts";
import { isBudgie, serverOf, withServer } from "./with-server.ts";
import { replaceClientFile } from "./replace-client-file.ts";
import { hasSharedCommand, isInNpxCache, buildServerEntry, buildServerOptions } from "./build-server-entry.ts";
import { formatDiff } from "./format-diff.ts";
import { loadTarget, type Chosen } from "./load-target.ts";

export type InstallOptions = Chosen & {
  /** Options of the server, in addition to the default ones */
  readonly args: readonly string[];
  /** Throws if a server would not start with these options. Returns a function that finds things that its machine lacks. */
  readonly check: (args: readonly string[]) => () => Promise<readonly string[]>;
  readonly dryRun: boolean;
  /** Replace another server of this name */
  readonly force: boolean;
};

/** Runs `budgie install`: edits a client's configuration so that it starts budgie. */
export async function runInstall(
  { args: given, check, dryRun, force, ...chosen }: InstallOptions,
  host: Host,
): Promise<number> {
  const client = CLIENTS[chosen.client];
  const args = buildServerOptions(given, client);
  const findMissing = check(args);
  const { file, target } = loadTarget(chosen, host);
  const existing = serverOf(file.text, target);
  const text = withServer(file.text, target, buildServerEntry({ args, client, scope: chosen.scope }));
  const say = (line: string): void => void host.stdout.write(`${line}\n`);
  if (text === file.text && file.found !== undefined) {
    say(`Nothing to change: "${file.path}" starts this budgie already.`);
    for (const line of await findMissing()) say(`Missing: ${line}`);
    return 0;
  }
  host.stdout.write(formatDiff(file.text, text, target));
  if (!force) refuseOther(existing, chosen, file.path);
  if (dryRun) {
    say("Nothing was written (--dry-run).");
    return 0;
  }
  const mode = MODES[chosen.scope];
  const backup = replaceClientFile(file, { text, mode, keepsBackup: true });
  say(`Wrote "${file.path}"${backup === undefined ? "" : `, and kept what was there as "${backup}"`}.`);
  for (const line of collectAdvice(chosen, args, host)) say(line);
  for (const line of await findMissing()) say(`Missing: ${line}`);
  return 0;
}

// A user's settings may contain keys; a project's are shared.
const MODES: Readonly<Record<Scope, number>> = { user: 0o600, project: 0o644 };

function refuseOther(existing: unknown, { client, name }: Chosen, path: string): void {
  if (existing === undefined || isBudgie(existing)) return;
  throw new BudgieError(
    "CONFIG_INVALID",
    `"${name}" in "${path}" starts something other than budgie. Nothing was changed; choose another name with --name, or ` +
      `replace it with "budgie install ${client} --force".`,
  );
}

function collectAdvice({ client, scope }: Chosen, args: readonly string[], host: Host): readonly string[] {
  const { advice, title } = CLIENTS[client];
  const own = advice === undefined ? [] : [advice];
  const restart = `Restart ${title}, or let it read its servers again. "budgie doctor" says whether agents can run.`;
  if (scope === "user") return [...own, restart];
  const isFetched = isInNpxCache();
  const needed = `This file goes to everybody who has the project: ${isFetched ? "npx" : "budgie"} must be on their PATH.`;
  const missing =
    isFetched || hasSharedCommand(host) ? [] : ['On yours it is not yet; "npm install -g budgie-mcp" puts it there.'];
  const paths = args.filter((word) => word.includes(host.home)).map((word) => `They will not have "${word}".`);
  return [needed, ...missing, ...paths, ...own, restart];
}
