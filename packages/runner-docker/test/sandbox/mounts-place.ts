import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KIRO_HIDDEN_PATHS, toHidden, type Access, type HiddenPaths, type Projection } from "@budgie/core";
import { holdTurnMounts } from "../../src/sandbox/mounts.ts";

export const volumes = {
  home: { name: "the-home", labels: { role: "home" } },
  auth: { name: "the-auth", labels: { role: "auth" } },
};

/** The folders of the home that a sandbox covers. */
export const HOME_COVERS = ["agents", "hooks", "workflows", "workspace-roots", "settings"].map(
  (name) => `.kiro/${name}`,
);

export type AskedMounts = {
  readonly projections?: readonly Projection[];
  readonly workspaceMode?: Access["workspace"];
  readonly protectedPaths?: readonly string[];
  readonly network?: string;
  /** Default: Kiro's */
  readonly hiddenPaths?: HiddenPaths;
};

/** Creates a workspace, and the folder for the covers and files of its turns. */
export function createMountsPlace() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "budgie-mounts-")));
  const workspace = join(root, "workspace");
  mkdirSync(workspace);
  writeFileSync(join(root, "passwd"), "");

  async function mountsOf(asked: AskedMounts = {}) {
    const {
      hiddenPaths = KIRO_HIDDEN_PATHS,
      network = "container:budgie-session-1",
      projections = [],
      protectedPaths = [],
      workspaceMode = "rw",
    } = asked;
    const [passwdFile, nestingFile] = [join(root, "passwd"), join(root, "depth")];
    const [resolvFile, hostsFile] = [join(root, "resolv"), join(root, "hosts")];
    const skeleton = join(root, `skeleton-${Math.random()}`);
    const files = { passwdFile, nestingFile, resolvFile, hostsFile, network, caFile: undefined, skeleton };
    const turn = {
      volumes,
      workspace,
      workspaceMode,
      protectedPaths,
      projections,
      hidden: toHidden({ hidden: hiddenPaths }),
      ...files,
    };
    await using held = await holdTurnMounts(turn);
    return held.mounts.map(({ settings }) => ({ ...settings, Source: settings.Source.replace(skeleton, "SKELETON") }));
  }

  return { root, workspace, mountsOf };
}
