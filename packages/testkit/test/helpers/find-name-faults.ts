import { posix } from "node:path";

const EXPORT = /^export (?:async )?(?:function\*?|const|class|type|interface) (\w+)/gm;
const CONSTANT = /^[A-Z][A-Z0-9_]*$/;

/** Lists the source files that have the name of none of their exports, one sentence each. */
export function findNameFaults(sources: ReadonlyMap<string, string>, exceptions: readonly string[]): readonly string[] {
  return [...sources].flatMap(([file, text]) => {
    const names = listExports(text);
    // A file of constants alone has no main export.
    const isNamed =
      names.every((name) => CONSTANT.test(name)) || names.flatMap(listFileNames).includes(posix.basename(file, ".ts"));
    if (isNamed !== exceptions.some((end) => `/${file}`.endsWith(`/${end}`))) return [];
    return isNamed ? [`${file} is no exception any more.`] : [`${file} exports ${names.join(", ")}.`];
  });
}

function listExports(text: string): readonly string[] {
  return [...text.matchAll(EXPORT)].map(([, name = ""]) => name);
}

/** Returns an export's name in kebab case, and without `create` or `add`: what they make may give the name. */
function listFileNames(name: string): readonly string[] {
  const kebab = name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1-$2")
    .replaceAll("_", "-")
    .toLowerCase();
  return [kebab, kebab.replace(/^(?:create|add)-/, "")];
}
