import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findTurningPoints } from "../../src/agents/watched-places.ts";

describe("findTurningPoints", () => {
  let top: string;

  beforeEach(() => {
    top = realpathSync(mkdtempSync(join(tmpdir(), "budgie-turning-")));
  });
  afterEach(() => rmSync(top, { recursive: true }));

  it("finds the end of a path without links", () => {
    mkdirSync(join(top, "a/b"), { recursive: true });

    expect(findTurningPoints(join(top, "a/b"))).toEqual({
      places: [{ folder: join(top, "a"), name: "b" }],
      real: join(top, "a/b"),
    });
  });

  it("finds each link on the way, relative ones and links of links", () => {
    mkdirSync(join(top, "real/in"), { recursive: true });
    mkdirSync(join(top, "links"));
    writeFileSync(join(top, "real/in/file"), "");
    symlinkSync("../real", join(top, "links/two"));
    symlinkSync(join(top, "links/two"), join(top, "one"));

    const { places, real } = findTurningPoints(join(top, "one/in/file"));

    expect(places).toEqual([
      { folder: top, name: "one" },
      { folder: join(top, "links"), name: "two" },
      { folder: join(top, "real/in"), name: "file" },
    ]);
    expect(real).toBe(join(top, "real/in/file"));
  });

  it("finds the first name that is missing, also behind a link", () => {
    symlinkSync(join(top, "not/yet"), join(top, "link"));

    expect(findTurningPoints(join(top, "link/there"))).toEqual({
      places: [
        { folder: top, name: "link" },
        { folder: top, name: "not" },
      ],
      real: undefined,
    });
  });

  it("comes to an end with links that lead in a circle", () => {
    symlinkSync("b", join(top, "a"));
    symlinkSync("a", join(top, "b"));

    expect(findTurningPoints(join(top, "a")).real).toBeUndefined();
  });

  it("takes a link for missing that goes while it is looked at", async () => {
    const link = join(top, "link");
    const flip = `const fs = require("node:fs"); const [link] = process.argv.slice(1);
      for (process.send("ready"); process.connected; ) { fs.symlinkSync("real", link); fs.unlinkSync(link); }`;
    const child = fork("--", [link], { execArgv: ["-e", flip] });
    await once(child, "message");
    const seen = new Set<boolean>();

    try {
      for (let looks = 0; looks < 100_000; looks++) seen.add(findTurningPoints(link).places.length === 2);
    } finally {
      child.kill("SIGKILL");
      await once(child, "exit");
    }

    // As a link and as none, or there was nothing to see.
    expect(seen).toEqual(new Set([false, true]));
  });
});
