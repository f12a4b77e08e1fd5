import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { holdFile } from "./hold-place.ts";

const script = fileURLToPath(new URL("../../../../scripts/build-forwarder", import.meta.url));
// scripts/test installs the tools if it may, and then a missing one is a failure.
const demanded = process.env["BUDGIE_FORWARDER_TOOLS"] === "installed";

/** Tells whether the compiler is Debian bookworm's: others produce other bytes. */
const compiles = (compiler: string): boolean =>
  demanded || spawnSync(compiler, ["-dumpfullversion"], { encoding: "utf8" }).stdout?.trim() === "12.2.0";

describe("the committed hold", () => {
  for (const [architecture, compiler] of [
    ["amd64", "x86_64-linux-gnu-gcc"],
    ["arm64", "aarch64-linux-gnu-gcc"],
  ] as const) {
    it.runIf(compiles(compiler))(`is what its source and the seccomp profile compile to for ${architecture}`, () => {
      const folder = mkdtempSync(join(tmpdir(), "budgie-"));
      try {
        execFileSync(script, ["hold", folder, architecture], { stdio: ["ignore", "inherit", "inherit"] });

        for (const name of [`linux-${architecture}`, `profile-${architecture}.bpf`])
          expect(readFileSync(join(folder, name)).equals(readFileSync(holdFile(name))), name).toBe(true);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });

    it(`is small, for ${architecture}`, () => {
      expect(readFileSync(holdFile(`linux-${architecture}`)).length).toBeLessThan(20_480);
    });
  }
});
