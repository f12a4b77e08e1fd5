import type { Host } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";
import type { ChangesActions } from "./changes-commands.ts";

type Options = {
  readonly config: () => Config;
  readonly host: Host;
  readonly finish: (code: number) => void;
};

/** Creates the actions of `budgie changes`. They are imported late: a server never needs them. */
export function createChangesActions({ config, finish, host }: Options): ChangesActions {
  return {
    async list(options) {
      const { listChanges } = await import("./list-changes.ts");
      finish(await listChanges(config(), options, host));
    },
    async show(options) {
      const { showChangeSet } = await import("./show-change-set.ts");
      finish(await showChangeSet(config(), options, host));
    },
    async diff(id) {
      const { diffChanges } = await import("./show-change-set.ts");
      finish(await diffChanges(config(), id, host));
    },
    async bundle(options) {
      const { bundleChanges } = await import("./bundle-changes.ts");
      finish(await bundleChanges(config(), options, host));
    },
    async apply(options) {
      const { applyChangeSet } = await import("./apply-change-set.ts");
      finish(await applyChangeSet(config(), options, host));
    },
    async discard(options) {
      const { discardChanges } = await import("./apply-change-set.ts");
      finish(await discardChanges(config(), options, host));
    },
    async undo(options) {
      const { undoChangeSet } = await import("./apply-change-set.ts");
      finish(await undoChangeSet(config(), options, host));
    },
  };
}
