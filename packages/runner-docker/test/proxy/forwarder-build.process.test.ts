import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { binaryOf, createForwarderPlace } from "./forwarder-place.ts";

const script = fileURLToPath(new URL("../../../../scripts/build-forwarder", import.meta.url));
// scripts/test installs the tools if it may, and then a missing one is a failure.
const demanded = process.env["BUDGIE_FORWARDER_TOOLS"] === "installed";

/** Tells whether the compiler is Debian bookworm's: others produce other bytes. */
const compiles = (compiler: string): boolean =>
  demanded || spawnSync(compiler, ["-dumpfullversion"], { encoding: "utf8" }).stdout?.trim() === "12.2.0";
const EMULATOR = "qemu-aarch64-static";
const emulates = demanded || spawnSync(EMULATOR, ["--version"]).status === 0;

describe("the committed forwarder", () => {
  for (const [architecture, compiler] of [
    ["amd64", "x86_64-linux-gnu-gcc"],
    ["arm64", "aarch64-linux-gnu-gcc"],
  ] as const) {
    it.runIf(compiles(compiler))(`is what its source compiles to for ${architecture}`, () => {
      const folder = mkdtempSync(join(tmpdir(), "budgie-"));
      try {
        execFileSync(script, [folder, architecture], { stdio: ["ignore", "inherit", "inherit"] });

        const made = readFileSync(join(folder, `linux-${architecture}`));
        expect(made.equals(readFileSync(binaryOf(architecture)))).toBe(true);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });

    it(`needs nothing but the kernel, and is small, for ${architecture}`, () => {
      const binary = readFileSync(binaryOf(architecture));

      expect(programHeaders(binary)).not.toContain(INTERPRETER);
      expect(programHeaders(binary)).toContain(LOADED);
      expect(binary.length).toBeLessThan(8192);
    });
  }

  it.runIf(emulates)("carries every byte in both directions on arm64", async () => {
    await using place = await createForwarderPlace([EMULATOR, binaryOf("arm64")]);
    await place.serve((peer) => void peer.pipe(peer));
    const content = randomBytes(3_000_000);
    const client = place.connect();

    client.end(content);

    expect((await buffer(client)).equals(content)).toBe(true);
  });
});

const LOADED = 1;
const INTERPRETER = 3;

/** Reads the segment types of a 64-bit little-endian ELF program. */
function programHeaders(binary: Buffer): readonly number[] {
  const [start, size, count] = [Number(binary.readBigUInt64LE(32)), binary.readUInt16LE(54), binary.readUInt16LE(56)];
  return Array.from({ length: count }, (_, index) => binary.readUInt32LE(start + index * size));
}
