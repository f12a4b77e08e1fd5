import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { compileCore } from "../helpers/compile-core.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

it("resolves no symlink in a folder that another user than root may write", () => {
  const folder = createTemporaryFolder();
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, "real"));
  symlinkSync("real", join(folder, "link"));

  expect(resolveAsOrdinaryUser(join(folder, "link/x"))).toBe(join(folder, "link/x"));
});

it.runIf(process.platform === "linux")(
  "resolves the symlinks of the system, also several in a row and in the middle",
  () => {
    // The kernel's own symlink follows one of root's: only root may write both folders.
    expect(resolveAsOrdinaryUser("/proc/mounts/x")).toMatch(/^\/proc\/\d+\/mounts\/x$/);
  },
);

it.runIf(process.platform === "darwin")("resolves /tmp of macOS", () => {
  expect(resolveAsOrdinaryUser("/tmp/x")).toBe("/private/tmp/x");
});

/** Resolves in a process of an ordinary user, since as root no symlink is trusted. */
function resolveAsOrdinaryUser(path: string): string {
  const core = compileCore();
  chmodSync(core, 0o755);
  const program = `
    import { resolveSystemLinks } from ${JSON.stringify(join(core, "policy/resolve-system-links.js"))};
    process.stdout.write(await resolveSystemLinks(${JSON.stringify(path)}));
  `;
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const options = { cwd: "/", encoding: "utf8", ...user } as const;
  return execFileSync(process.execPath, ["--input-type=module", "--eval", program], options);
}
