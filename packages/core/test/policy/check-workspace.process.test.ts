import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkWorkspace } from "../../src/policy/check-workspace.ts";
import { compileCore } from "../helpers/compile-core.ts";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

const ANYWHERE = { allowedRoots: [], guarded: undefined };
const IN_A_SANDBOX = { allowedRoots: [], guarded: [] };

describe("checkWorkspace", () => {
  it("returns an existing directory", async () => {
    const folder = createTemporaryFolder();

    expect(await checkWorkspace(folder, ANYWHERE)).toBe(folder);
  });

  it("accepts any name that a directory can have", async () => {
    const folder = join(createTemporaryFolder(), " a b:c,d\n'\"$é日");
    mkdirSync(folder);

    expect(await checkWorkspace(folder, ANYWHERE)).toBe(folder);
  });

  it("resolves symlinks and dots without a sandbox, so that one directory has one name", async () => {
    const folder = createTemporaryFolder();
    mkdirSync(join(folder, "real"));
    symlinkSync(join(folder, "real"), join(folder, "link"));

    expect(await checkWorkspace(join(folder, "link"), ANYWHERE)).toBe(join(folder, "real"));
    expect(await checkWorkspace(`${folder}/real/../real/`, ANYWHERE)).toBe(join(folder, "real"));
  });

  it("accepts only the named directory itself for a sandbox", async () => {
    const folder = createTemporaryFolder();
    mkdirSync(join(folder, "app", "packages"), { recursive: true });
    mkdirSync(join(folder, "other", "ui"), { recursive: true });
    symlinkSync(join(folder, "other"), join(folder, "app", "packages", "link"));
    const [link, other] = [join(folder, "app", "packages", "link"), join(folder, "other")];

    await expect(checkWorkspace(link, IN_A_SANDBOX)).rejects.toMatchObject({
      code: "WORKSPACE_INVALID",
      message:
        `The directory "${link}" (really "${other}") is named by a link that an agent may have made. ` +
        `Pass "${other}" if you mean that, or allow a directory that holds both with the option "allowedRoots".`,
    });
    await expect(checkWorkspace(join(link, "ui"), IN_A_SANDBOX)).rejects.toThrow("by a link");
    await expect(checkWorkspace(`${link}/../other`, IN_A_SANDBOX)).rejects.toThrow("by a link");
    expect(await checkWorkspace(`${folder}/app/../other/`, IN_A_SANDBOX)).toBe(other);
  });

  it("follows a symlink for a sandbox if allowed roots cover its path and its target", async () => {
    const folder = createTemporaryFolder();
    for (const name of ["code/app", "code/other", "elsewhere"]) mkdirSync(join(folder, name), { recursive: true });
    const code = { named: join(folder, "code"), path: join(folder, "code") };
    const elsewhere = { named: join(folder, "elsewhere"), path: join(folder, "elsewhere") };
    const rules = { allowedRoots: [code, elsewhere], guarded: [] };
    symlinkSync("../other", join(folder, "code/app/near"));
    symlinkSync("../../elsewhere", join(folder, "code/app/far"));

    expect(await checkWorkspace(join(folder, "code/app/near"), rules)).toBe(join(folder, "code/other"));
    await expect(checkWorkspace(join(folder, "code/app/far"), rules)).rejects.toThrow("by a link");
  });

  it.each([
    ["nothing", "", /^The directory "" is not an absolute path\. /],
    ["a relative path", "src", /^The directory "src" is not an absolute path\. /],
    ["a path that begins with a tilde, where nobody has a home", "~/src", /^The directory "~\/src" is not an absolute/],
    ["another user's home", "~root/src", /is not an absolute path/],
    ["a NUL", "/tmp\0/x", /^The directory "\/tmp\\u0000\/x" holds a NUL character\. /],
    ["a missing path", "/no/such/path", /^The directory "\/no\/such\/path" cannot be used \(ENOENT\)\. /],
    ["a name too long", `/${"x".repeat(300)}`, /cannot be used \(ENAMETOOLONG\)/],
  ])("refuses %s", async (_what, directory, message) => {
    await expect(checkWorkspace(directory, ANYWHERE)).rejects.toMatchObject({
      code: "WORKSPACE_INVALID",
      message: expect.stringMatching(message),
    });
  });

  it("accepts a path below the user's home that begins with a tilde, by the same rules", async () => {
    const home = createTemporaryFolder();
    mkdirSync(join(home, "code/$&"), { recursive: true });
    const rules = { ...ANYWHERE, home };

    expect(await checkWorkspace("~/code/$&", rules)).toBe(join(home, "code/$&"));
    await expect(
      checkWorkspace("~", { ...rules, guarded: [{ path: home, what: "your home", mayHoldWorkspaces: true }] }),
    ).rejects.toThrow("your home");
    await expect(checkWorkspace("~/none", rules)).rejects.toThrow(`"${join(home, "none")}" cannot be used (ENOENT)`);
  });

  it("refuses a file, and a path below one", async () => {
    const file = join(createTemporaryFolder(), "file");
    writeFileSync(file, "");

    await expect(checkWorkspace(file, ANYWHERE)).rejects.toThrow("is not a directory");
    await expect(checkWorkspace(join(file, "x"), ANYWHERE)).rejects.toThrow("cannot be used (ENOTDIR)");
  });

  it("refuses a dangling symlink, and a circular one", async () => {
    const folder = createTemporaryFolder();
    symlinkSync(join(folder, "none"), join(folder, "dangling"));
    symlinkSync(join(folder, "circle"), join(folder, "circle"));

    await expect(checkWorkspace(join(folder, "dangling"), ANYWHERE)).rejects.toThrow("cannot be used (ENOENT)");
    await expect(checkWorkspace(join(folder, "circle"), ANYWHERE)).rejects.toThrow("cannot be used (ELOOP)");
  });

  it("refuses a directory that the user may not read, and one below it", async () => {
    const folder = createTemporaryFolder();
    mkdirSync(join(folder, "closed", "below"), { recursive: true });
    chmodSync(folder, 0o755);
    chmodSync(join(folder, "closed"), 0);

    expect(checkAsOrdinaryUser(join(folder, "closed"))).toMatch(/cannot be used \(EACCES\)\. .* you may read it\.$/);
    expect(checkAsOrdinaryUser(join(folder, "closed", "below"))).toContain("cannot be used (EACCES)");
  });
});

/** Checks in a process of its own, since root may read everything. */
function checkAsOrdinaryUser(directory: string): string {
  const core = compileCore();
  chmodSync(core, 0o755);
  const program = `
    import { checkWorkspace } from ${JSON.stringify(join(core, "policy/check-workspace.js"))};
    const outcome = await checkWorkspace(${JSON.stringify(directory)}, ${JSON.stringify(ANYWHERE)}).catch((error) => error.message);
    process.stdout.write(outcome);
  `;
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const options = { cwd: "/", encoding: "utf8", ...user } as const;
  return execFileSync(process.execPath, ["--input-type=module", "--eval", program], options);
}
