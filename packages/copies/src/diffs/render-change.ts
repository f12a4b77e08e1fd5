import type { ObjectStore } from "../objects/object-store.ts";
import type { Change, Side } from "../sets/change-set.ts";
import type { Differ } from "./differ.ts";
import { escapeBytes, escapeUnseen } from "./escape-bytes.ts";

export type Rendering = { readonly objects: ObjectStore; readonly differ: Differ };

// A diff of more is no reading matter, and takes the worker's memory.
const LARGEST_TEXT_BYTES = 4 * 1024 * 1024;

/** Returns the lines that show a change: its kind and path, remarks, and the diff of its contents. Each is escaped. */
export async function renderChange(change: Change, rendering: Rendering): Promise<readonly string[]> {
  const { after, before, guard, notes = [], path, refused } = change;
  const name = escapeUnseen(path);
  return [
    `${findVerb(change)} ${name}`,
    ...(refused === undefined ? [] : [`  not applied: ${refused}`]),
    ...(guard === "person" ? ["  guarded: the host runs or obeys it, so only a person applies it"] : []),
    ...(guard === "told" ? ["  note: builds or editors run it"] : []),
    ...notes.map((note) => `  note: ${note}`),
    ...listFacts(before, after),
    ...(await renderContents(change, name, rendering)),
  ];
}

/** Returns the verb of a change, as in a list of changes. */
export function findVerb({ after, before, refused }: Change): "added" | "changed" | "refused" | "removed" {
  if (before === undefined && after === undefined && refused !== undefined) return "refused";
  if (before === undefined) return "added";
  return after === undefined ? "removed" : "changed";
}

function listFacts(before: Side | undefined, after: Side | undefined): readonly string[] {
  const [old, fresh] = [describe(before), describe(after)];
  if (old === fresh) return [];
  if (old === undefined) return fresh === "a file" ? [] : [`  now ${fresh}`];
  if (fresh === undefined) return old === "a file" ? [] : [`  was ${old}`];
  return [`  was ${old}, now ${fresh}`];
}

function describe(side: Side | undefined): string | undefined {
  if (side === undefined) return undefined;
  if (side.kind === "link") return `a symlink to ${escapeUnseen(side.target)}`;
  if (side.kind === "folder") return "a folder";
  return side.executable ? "an executable file" : "a file";
}

async function renderContents(change: Change, name: string, rendering: Rendering): Promise<readonly string[]> {
  const [old, fresh] = [toFile(change.before), toFile(change.after)];
  if (old?.digest === fresh?.digest && (old === undefined) === (fresh === undefined)) return [];
  const oldText = await readText(old, rendering.objects);
  const freshText = await readText(fresh, rendering.objects);
  if (typeof freshText !== "string") return [`  ${toUnshown(old, fresh, freshText.why)}`];
  return [
    // Without its base the whole new file is shown.
    ...(typeof oldText === "string"
      ? []
      : [`  note: the base is not shown, since ${oldText.why}: this is the whole new file`]),
    `--- ${toHeader("a", name, old)}`,
    `+++ ${toHeader("b", name, fresh)}`,
    ...(await rendering.differ.diff(typeof oldText === "string" ? oldText : "", freshText)).map(escapeBytes),
  ];
}

function toHeader(side: "a" | "b", name: string, file: FileSide | undefined): string {
  return file === undefined ? "/dev/null" : `${side}/${name}`;
}

type FileSide = Extract<Side, { kind: "file" }>;

function toFile(side: Side | undefined): FileSide | undefined {
  return side?.kind === "file" ? side : undefined;
}

/** Reads a file's text as latin1, or returns why it is not shown. No file is an empty text. */
async function readText(file: FileSide | undefined, objects: ObjectStore): Promise<string | { readonly why: string }> {
  if (file === undefined) return "";
  if (!file.kept || file.digest === undefined) return { why: "its content is not kept" };
  if (file.size > LARGEST_TEXT_BYTES) return { why: "it is too large to show" };
  const content = await objects.read(file.digest);
  if (content === undefined) return { why: "its stored content is missing or damaged" };
  return content.includes(0) ? { why: "it is binary" } : content.toString("latin1");
}

function toUnshown(old: FileSide | undefined, fresh: FileSide | undefined, why: string): string {
  return `content not shown, since ${why}: ${describeFile(old)} to ${describeFile(fresh)}`;
}

function describeFile(file: FileSide | undefined): string {
  if (file === undefined) return "no file";
  return `${file.size} bytes${file.digest === undefined ? "" : ` (sha256 ${file.digest.slice(0, 16)})`}`;
}
