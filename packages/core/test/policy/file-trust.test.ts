import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openFileTrust } from "@budgie/core/policy";
import { checkFilesBy, readPlainFile } from "@budgie/core/text";
import { createTemporaryFolder } from "../helpers/temporary-folder.ts";

const COMMAND = (path: string): string => `trust ${path}`;

describe("a file of settings in a directory where an agent could write", () => {
  it("is refused by any name, until the user trusts it as it is, and again once it changes", () => {
    const { directory, file, trust } = create();
    const link = join(createTemporaryFolder(), "link.json");
    symlinkSync(file, link);
    expect(readPlainFile(link).text).toBe("{}");

    trust.note(directory);
    const refusal = `it lies in "${directory}", where agents could write, and nobody has trusted it since. At a terminal, "trust ${file}" shows and trusts it`;
    for (const path of [file, link]) expect(() => readPlainFile(path)).toThrow(refusal);

    trust.trust(file, readFileSync(file));
    for (const path of [file, link]) expect(readPlainFile(path).text).toBe("{}");

    appendFileSync(file, " ");
    expect(() => readPlainFile(link)).toThrow(refusal);
  });

  it("is refused by a budgie that starts later, and by one that runs already", () => {
    const { directory, file, stateDir, trust } = create();
    expect(readPlainFile(file).text).toBe("{}");

    openFileTrust(stateDir, COMMAND).note(directory);

    expect(() => readPlainFile(file)).toThrow("where agents could write");
    checkFilesBy(openFileTrust(stateDir, COMMAND));
    expect(() => readPlainFile(file)).toThrow("where agents could write");
    expect(trust.findDirectory(`${directory}-beside/x`)).toBeUndefined();
  });

  it("costs one line, however often its directory is used, which only the user can read", () => {
    const { directory, stateDir, trust } = create();
    mkdirSync(join(directory, "src"));

    for (const path of [directory, directory, join(directory, "src")]) trust.note(path);

    const file = join(stateDir, "written-directories");
    expect(readFileSync(file, "utf8").trim().split("\n")).toEqual([expect.stringContaining(JSON.stringify(directory))]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("stays refused when its directory is moved, and what comes there later is not", () => {
    const { directory, trust } = create();
    trust.note(directory);
    const moved = join(createTemporaryFolder(), "dotfiles");
    renameSync(directory, moved);

    expect(() => readPlainFile(join(moved, "settings.json"))).toThrow(`it lies in "${moved}"`);
    rmSync(moved, { recursive: true });
    mkdirSync(moved);
    expect(trust.findDirectory(moved)).toBeUndefined();
  });

  it("stays refused, and no other is, when thousands of directories are remembered", () => {
    const { stateDir, trust } = create();
    const places = Array.from({ length: 2200 }, (_, index) => `/work/${index % 7}/project-${index}`);
    mkdirSync(stateDir);
    // Each note reads all of them again.
    const noted = places.splice(-10);
    writeFileSync(
      join(stateDir, "written-directories"),
      places.map((place) => `\n${JSON.stringify([place])}\n`).join(""),
    );

    for (const place of noted) trust.note(place);
    places.push(...noted);

    expect(places.filter((place) => trust.findDirectory(`${place}/x.json`) === undefined)).toEqual([]);
    expect(["/work/3/x.json", "/work/3/project-0/x.json"].map(trust.findDirectory)).toEqual([undefined, undefined]);
  });

  it("stays refused by what an earlier budgie wrote, which kept only paths", () => {
    const { directory, file, stateDir } = create();
    mkdirSync(stateDir);
    writeFileSync(join(stateDir, "written-directories"), `\n${JSON.stringify(directory)}\n`);

    expect(() => readPlainFile(file)).toThrow("where agents could write");
  });

  it("is refused although a full disk cut off what was remembered before", () => {
    const { directory, file, stateDir, trust } = create();
    mkdirSync(stateDir);
    writeFileSync(join(stateDir, "written-directories"), '"/home/u/pro');

    trust.note(directory);

    expect(() => readPlainFile(file)).toThrow("where agents could write");
  });

  it("is refused if what is remembered cannot be read", () => {
    const { file, stateDir } = create();
    mkdirSync(join(stateDir, "written-directories"), { recursive: true });

    expect(() => readPlainFile(file)).toThrow("is not a file of budgie's");
  });
});

it("Nothing is written for files elsewhere", () => {
  const { file, stateDir } = create();

  expect(readPlainFile(file).text).toBe("{}");
  expect(existsSync(stateDir)).toBe(false);
});

function create() {
  const directory = join(createTemporaryFolder(), "project");
  mkdirSync(directory);
  const file = join(directory, "settings.json");
  writeFileSync(file, "{}");
  const stateDir = join(createTemporaryFolder(), "state");
  const trust = openFileTrust(stateDir, COMMAND);
  checkFilesBy(trust);
  onTestFinished(() => checkFilesBy(undefined));
  return { directory, file, stateDir, trust };
}
