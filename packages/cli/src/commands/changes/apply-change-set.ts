import { applyChanges, undoChanges, type ApplyResult, type OnConflict } from "@budgie/copies/apply";
import { escapeUnseen } from "@budgie/copies/diffs";
import { openUserFileTrust, type Host } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";
import { hasPerson, isYes, refuseWithoutPerson } from "../../process/refuse-without-person.ts";
import { shortId } from "../../terminal/expand-id.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { withChangeSets } from "./with-change-sets.ts";

export type ApplyChangesOptions = {
  readonly id: string;
  /** `skip` applies all but what is in conflict, and `merge` does so once it has merged texts; by default a conflict applies nothing */
  readonly conflicts: OnConflict;
  /** True to apply guarded paths too, which a person has to confirm */
  readonly guarded: boolean;
  readonly json: boolean;
};

/** Runs `budgie changes apply`: writes a change set into its directory. Resolves to 1 if there are conflicts. */
export async function applyChangeSet(config: Config, options: ApplyChangesOptions, host: Host): Promise<number> {
  const { conflicts: onConflict, guarded, id, json } = options;
  if (config.apply !== "caller") refuseWithoutPerson(host, 'Changes are applied by a person, as "apply" says');
  if (guarded) refuseWithoutPerson(host, "Guarded paths are applied by a person");
  return withChangeSets(config, host, async (sets, owner) => {
    const { id: changeId, set } = await sets.find(id);
    const paths = set.changes.filter(({ guard }) => guard === "person").map(({ path }) => escapeUnseen(path));
    if (guarded && paths.length > 0) {
      host.stdout.write(`The host runs or obeys these paths:\n${paths.map((path) => `  ${path}\n`).join("")}`);
      host.stdout.write("Apply them too? [y/N] ");
      if (!(await isYes(host))) return 1;
    }
    const fileTrust = openUserFileTrust(config, host);
    const result = await applyChanges({ sets, owner, fileTrust, id: changeId, onConflict, withGuarded: guarded });
    host.stdout.write(json ? stringifySafely(result) : resultText(result, "Applied"));
    if (!json && result.heldBack.length > 0) host.stdout.write(heldBackText(result, host));
    return result.conflicts.length === 0 ? 0 : 1;
  });
}

type ChangeOptions = { readonly id: string; readonly json: boolean };

/** Runs `budgie changes undo`: takes an applied change set back. Resolves to 1 if there are conflicts. */
export async function undoChangeSet(config: Config, { id, json }: ChangeOptions, host: Host): Promise<number> {
  return withChangeSets(config, host, async (sets, owner) => {
    const result = await undoChanges({ sets, owner, id });
    host.stdout.write(json ? stringifySafely(result) : resultText(result, "Took back"));
    return result.conflicts.length === 0 ? 0 : 1;
  });
}

/** Runs `budgie changes discard`: gives up change sets that are pending. */
export async function discardChanges(
  config: Config,
  { ids, json }: { readonly ids: readonly string[]; readonly json: boolean },
  host: Host,
): Promise<number> {
  const discarded = await withChangeSets(config, host, async (sets) => {
    // All are found before one is discarded.
    const found = [];
    for (const id of ids) found.push(await sets.find(id));
    for (const { id } of found) await sets.discard(id);
    return found.map(({ id }) => id);
  });
  host.stdout.write(
    json ? stringifySafely({ discarded }) : discarded.map((id) => `discarded ${shortId(id)}\n`).join(""),
  );
  return 0;
}

function resultText({ applied, conflicts, directory, refused, state }: ApplyResult, verb: string): string {
  const count = applied.length === 1 ? "1 path" : `${applied.length} paths`;
  const isStopped = applied.length === 0 && conflicts.length > 0;
  const first = isStopped
    ? `Wrote nothing into ${escapeUnseen(directory)}: the set is still ${formatState(state)}.`
    : `${verb} ${count} in ${escapeUnseen(directory)}: the set is ${formatState(state)}.`;
  const lines = [
    ...applied.flatMap(({ merged, path }) => (merged === undefined ? [] : [`merged: ${escapeUnseen(path)}`])),
    ...conflicts.map(({ path, why }) => `conflict: ${escapeUnseen(path)}: ${why}`),
    ...refused.map(({ path, why }) => `not applied: ${escapeUnseen(path)}: ${why}`),
  ];
  return `${[first, ...lines].join("\n")}\n`;
}

function formatState(state: ApplyResult["state"]): string {
  return state === "partly" ? "partly applied" : state;
}

function heldBackText({ heldBack, id }: ApplyResult, host: Host): string {
  const lines = heldBack.map((path) => `held back: ${escapeUnseen(path)}\n`).join("");
  const where = hasPerson(host) ? "" : " at a terminal";
  return `${lines}"budgie changes apply ${shortId(id)} --guarded"${where} applies what is held back.\n`;
}
