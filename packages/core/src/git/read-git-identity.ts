import { dirname, join, resolve } from "node:path";
import { parseGitConfig, type GitSetting } from "../text/parse-git-config.ts";
import { readPlainFile } from "../text/read-plain-file.ts";

/** The user whose configuration is read. */
type GitUser = {
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  readonly report: (line: string) => void;
};

// More than anybody includes. git refuses a file that includes itself.
const MOST_FILES = 100;

/**
 * Returns the variables that make git commit in the name of the user's global configuration; none without a name and an address. git itself
 * is not run: it would read a repository's configuration too. Conditional includes are left out, since they depend on the repository.
 */
export function readGitIdentity({ env, home, report }: GitUser): Record<string, string> {
  const folder = env["XDG_CONFIG_HOME"] || join(home, ".config");
  const named = env["GIT_CONFIG_GLOBAL"];
  // git's own way to say that there is none
  if (named === "/dev/null") return {};
  let files = 0;
  const settings = (named === undefined ? [join(folder, "git", "config"), join(home, ".gitconfig")] : [named]).flatMap(
    readSettings,
  );
  const find = (key: string): string | undefined => settings.findLast((setting) => setting.key === key)?.value;
  const [name, email] = [find("user.name"), find("user.email")];
  if (!name || !email) return {};
  return { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email };

  function readSettings(file: string): readonly GitSetting[] {
    if (++files > MOST_FILES) return [];
    // git takes neither from a subsection.
    const own = parseGitConfig(readText(file)).filter(({ hasSubsection }) => !hasSubsection);
    return own.flatMap((setting) => {
      if (setting.key !== "include.path") return [setting];
      return readSettings(resolve(dirname(file), setting.value.replace(/^~\//, `${home}/`)));
    });
  }

  function readText(file: string): string {
    try {
      return readPlainFile(file).text;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
      const reason = error instanceof Error ? error.message : String(error);
      report(`Agents may not commit in your name, since git's "${file}" cannot be used: ${reason}.`);
      return "";
    }
  }
}
