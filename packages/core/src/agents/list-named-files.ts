import { dirname, posix, resolve } from "node:path";
import { z } from "zod";

/** A file outside the workspace that an agent file names, or a glob of such files. */
export type NamedFile = {
  /** The name in the agent file, such as `file://~/.kiro/shared/rules.md` */
  readonly uri: string;
  /** An absolute path on the host, one that begins with `~/`, or one that begins with `../` and is relative to the workspace */
  readonly path: string;
  readonly of: "prompt" | "resources";
};

// A string, or a knowledge base. Only Kiro validates an agent file: budgie skips entries that it does not understand.
const resourceSchema = z.union([z.string(), z.looseObject({ source: z.string() }).transform(({ source }) => source)]);

type Naming = { readonly prompt?: string | null | undefined; readonly resources?: unknown };

/**
 * Lists the files outside the workspace that an agent file names. Kiro resolves prompts relative to the file's folder, and resources
 * relative to the workspace.
 */
export function listNamedFiles({ prompt, resources }: Naming, file: string): readonly NamedFile[] {
  const entries: readonly unknown[] = Array.isArray(resources) ? resources : [];
  const named = entries.flatMap((entry) => {
    const uri = resourceSchema.safeParse(entry).data ?? "";
    const path = posix.normalize(/^(?:file|skill):\/\/(.+)$/.exec(uri)?.[1] ?? "");
    return /^(?:\/|~\/|\.\.\/)/.test(path) ? [{ uri, path, of: "resources" } as const] : [];
  });
  const path = /^file:\/\/(.+)$/.exec(prompt ?? "")?.[1];
  if (path === undefined) return named;
  const target = path.startsWith("~/") ? posix.normalize(path) : resolve(dirname(file), path);
  return [{ uri: prompt ?? "", path: target, of: "prompt" }, ...named];
}
