import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HOLD } from "./hold-place.ts";

const prepare = (...words: readonly string[]) => spawnSync(HOLD, ["prepare", ...words], { encoding: "utf8" });

describe.skipIf(process.platform !== "linux")("hold prepare (on Linux)", () => {
  let place: string;
  const at = (path: string): string => join(place, path);

  beforeEach(() => {
    place = mkdtempSync(join(tmpdir(), "budgie-"));
    for (const folder of ["from", "to"]) mkdirSync(at(folder));
    writeFileSync(at("from/hold"), "h".repeat(200_000));
    writeFileSync(at("from/profile.bpf"), "profile");
  });

  afterEach(() => rmSync(place, { recursive: true }));

  it("makes the folders that are missing, and copies hold and its profile", () => {
    mkdirSync(at("there"), { mode: 0o700 });
    mkdirSync(at("here"));

    const { status, stderr } = prepare(at("from"), at("to"), at("there"), at("here/new"));

    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect([at("there"), at("here/new")].map((folder) => statSync(folder).mode & 0o777)).toEqual([0o700, 0o755]);
    expect(readdirSync(at("to")).toSorted()).toEqual(["hold", "profile.bpf"]);
    expect(readFileSync(at("to/hold"), "utf8")).toBe("h".repeat(200_000));
    expect(readFileSync(at("to/profile.bpf"), "utf8")).toBe("profile");
    expect(statSync(at("to/hold")).mode & 0o777).toBe(0o555);
  });

  it("replaces what is there from before", () => {
    writeFileSync(at("to/hold"), "older", { mode: 0o444 });
    writeFileSync(at("to/.hold"), "a part that is longer than what comes now".repeat(10_000));

    expect(prepare(at("from"), at("to")).status).toBe(0);
    expect(readFileSync(at("to/hold"), "utf8")).toBe("h".repeat(200_000));
  });

  it("says which folder cannot be made", () => {
    symlinkSync(at("nowhere"), at("link"));
    writeFileSync(at("file"), "");

    for (const folder of [at("no/such"), at("link"), at("file")])
      expect(prepare(at("from"), at("to"), folder)).toMatchObject({
        status: 125,
        stderr: `${folder}: cannot make this folder\n`,
      });
    expect(readdirSync(at("to"))).toEqual([]);
  });

  it("says where hold cannot be copied to", () => {
    rmSync(at("from/hold"));
    for (const [from, to] of [
      [at("from"), at("to")],
      [at("none"), at("to")],
      [at("from"), at("none")],
    ] as const)
      expect(prepare(from, to)).toMatchObject({
        status: 125,
        stderr: `${to}: cannot copy hold and its profile into this folder\n`,
      });
    expect(readdirSync(at("to"))).not.toContain("hold");
  });
});
