import { posix } from "node:path";

/** A package's rooms, the lowest first. Each may import the rooms that it names, which come before it. */
export type Rooms = Readonly<Record<string, { readonly about: string; readonly imports: readonly string[] }>>;

/** The text of source files by their paths below `src`. */
export type Sources = ReadonlyMap<string, string>;

const MOST_FILES = 14;
const FEWEST_FILES = 3;
const MOST_LEVELS = 2;
const SPECIFIER = /(?:\bfrom|\bimport\(|^import)\s*"(\.\.?\/[^"]*)"/gm;
const REEXPORTS = /^(?:\s|\/\/[^\n]*\n|export (?:type )?\{[^}]*\} from "[^"]*";)*$/;

/** Lists the violations of a package's table of rooms, one sentence each. */
export function findRoomFaults(rooms: Rooms, sources: Sources): readonly string[] {
  const files = [...sources.keys()];
  // A package's surface only re-exports, from any room.
  const imports = new Map(
    [...sources].map(([file, text]) => [file, REEXPORTS.test(text) ? [] : listImports(file, text)]),
  );
  return [
    ...findOrderFaults(rooms),
    ...findSizeFaults(rooms, files),
    ...files.flatMap((file) => findImportFaults(rooms, file, imports.get(file) ?? [])),
    ...findCycles(imports),
  ];
}

/** Returns the folder of a file below `src`, `.` for `src` itself. */
export function toRoom(file: string): string {
  return posix.dirname(file);
}

/** Lists the folders that contain more than 14 of these files. */
export function findLargeRooms(files: readonly string[]): readonly string[] {
  return [...countRooms(files)]
    .filter(([, count]) => count > MOST_FILES)
    .map(([room, count]) => `"${room}" has ${count} files, and ${MOST_FILES} are the most.`);
}

function findOrderFaults(rooms: Rooms): readonly string[] {
  const names = Object.keys(rooms);
  return Object.entries(rooms).flatMap(([room, { imports }], index) =>
    imports
      .filter((name) => !names.slice(0, index).includes(name))
      .map((name) => `The table lets "${room}" import "${name}", which does not come before it.`),
  );
}

function findSizeFaults(rooms: Rooms, files: readonly string[]): readonly string[] {
  const counts = countRooms(files);
  return [
    ...findLargeRooms(files),
    ...[...counts].flatMap(([room, count]) => [
      ...(room in rooms ? [] : [`"${room}" is not in the table.`]),
      ...(count < FEWEST_FILES ? [`"${room}" has ${count} files, and ${FEWEST_FILES} are the fewest.`] : []),
      ...(room.split("/").length > MOST_LEVELS ? [`"${room}" lies deeper than ${MOST_LEVELS} levels.`] : []),
    ]),
    ...Object.keys(rooms).flatMap((room) => (counts.has(room) ? [] : [`"${room}" is in the table and has no files.`])),
  ];
}

function findImportFaults(rooms: Rooms, file: string, imports: readonly string[]): readonly string[] {
  const room = toRoom(file);
  return imports
    .filter((imported) => toRoom(imported) !== room && rooms[room]?.imports.includes(toRoom(imported)) !== true)
    .map(
      (imported) => `${file} imports ${imported}, and the table does not let "${room}" import "${toRoom(imported)}".`,
    );
}

/** Follows the imports of each file, and reports each cycle once. */
function findCycles(imports: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const done = new Set<string>();
  const faults: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) faults.push(`${[...path.slice(start), file].join(" imports ")}.`);
    if (start >= 0 || done.has(file)) return;
    for (const imported of imports.get(file) ?? []) visit(imported, [...path, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return faults;
}

function listImports(file: string, text: string): readonly string[] {
  return [...text.matchAll(SPECIFIER)].map(([, specifier = ""]) => posix.join(posix.dirname(file), specifier));
}

function countRooms(files: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const file of files) counts.set(toRoom(file), (counts.get(toRoom(file)) ?? 0) + 1);
  return counts;
}
