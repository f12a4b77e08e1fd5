import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Projection, StartOptions } from "@budgie/core";
import { DEFAULT_ACCESS, KIRO_HIDDEN_PATHS, type Access, type GitFolders, type HiddenPaths } from "@budgie/core/policy";
import { holdMounts } from "../../src/mounts/held-mounts.ts";

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
  readonly git?: GitFolders;
  readonly workspacePath?: StartOptions["workspacePath"];
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
      git,
      hiddenPaths = KIRO_HIDDEN_PATHS,
      network = "container:budgie-session-1",
      projections = [],
      protectedPaths = [],
      workspaceMode = "rw",
      workspacePath,
    } = asked;
    const [passwdFile, nestingFile] = [join(root, "passwd"), join(root, "depth")];
    const [resolvFile, hostsFile] = [join(root, "resolv"), join(root, "hosts")];
    const skeleton = join(root, `skeleton-${Math.random()}`);
    const turn = {
      volumes,
      command: { projections, hidden: hiddenPaths },
      options: {
        directory: workspace,
        git,
        workspacePath,
        protectedPaths,
        access: { ...DEFAULT_ACCESS, workspace: workspaceMode },
      },
      passwdFile,
      nestingFile,
      resolvFile,
      hostsFile,
      skeleton,
      network: { mode: network },
      caFile: undefined,
    };
    await using held = await holdMounts(turn);
    return held.mounts.map(({ settings }) => ({ ...settings, source: settings.source.replace(skeleton, "SKELETON") }));
  }

  return { root, workspace, mountsOf };
}
