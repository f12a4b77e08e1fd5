import { Command } from "commander";

/** Returns ` Did you mean "NAME"?` for a word that is similar to one of the names; otherwise nothing. */
export function didYouMean(word: string, names: readonly string[]): string {
  if (word === "") return "";
  const extended = names.filter((name) => name !== "" && (word.startsWith(name) || name.startsWith(word)));
  const found = extended.length > 0 ? extended : findSimilar(word, names);
  return found.length === 0 ? "" : ` Did you mean ${found.map((name) => `"${name}"`).join(" or ")}?`;
}

/** Returns the names that commander would suggest. Its comparison is reachable only through unknown commands. */
function findSimilar(word: string, names: readonly string[]): readonly string[] {
  const silent = { outputError: () => undefined, writeOut: () => undefined };
  const program = new Command().helpCommand(false).helpOption(false).exitOverride().configureOutput(silent);
  for (const name of new Set(names)) program.addCommand(new Command(name));
  try {
    program.parse([word], { from: "user" });
    return [];
  } catch (error) {
    const [, hint] = String(error).split("\n(Did you mean ");
    return (
      hint
        ?.replace(/^one of /, "")
        .slice(0, -"?)".length)
        .split(", ") ?? []
    );
  }
}
