import { join } from "node:path";
import { openBaseFiles } from "@budgie/copies/copying";
import type { Host } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { withChangeSets } from "./with-change-sets.ts";
import { formatBundle, writeBundle } from "./write-bundle.ts";

export type BundleOptions = {
  readonly id: string;
  /** A file that does not exist yet; default the short id with `.bundle` in the present directory */
  readonly file: string | undefined;
  readonly json: boolean;
};

/** Runs `budgie changes bundle`: writes the commits of the copy that a change set is of into a git bundle. */
export async function bundleChanges(config: Config, { file, id, json }: BundleOptions, host: Host): Promise<number> {
  await withChangeSets(config, host, async ({ find }, owner) => {
    const { directory, id: changeId, sessionId: session } = await find(id);
    const base = await openBaseFiles(join(config.stateDir, "copies")).load(session);
    const source = { id: changeId, session, directory, without: base?.tips ?? [] };
    const bundle = await writeBundle({ ...source, file }, config, { host, owner });
    const { file: written, references } = bundle;
    host.stdout.write(
      json ? stringifySafely({ file: written, changeId, directory, references, session }) : formatBundle(bundle),
    );
  });
  return 0;
}
