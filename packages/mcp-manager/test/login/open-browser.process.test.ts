import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openBrowser } from "../../src/login/open-browser.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "budgie-browser-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it.each([
  ["linux", "xdg-open"],
  ["darwin", "open"],
] as const)("an address is opened on %s by %s", async (platform, program) => {
  const script = `#!/bin/sh\nprintf %s "$1" > "${folder}/draft"; mv "${folder}/draft" "${folder}/opened"\n`;
  writeFileSync(join(folder, program), script, { mode: 0o755 });
  openBrowser("http://127.0.0.1/?a=1&b=2", { platform, env: { PATH: `${folder}:/bin:/usr/bin`, DISPLAY: ":0" } });

  await expect.poll(() => read(join(folder, "opened"))).toBe("http://127.0.0.1/?a=1&b=2");
});

it("a machine without a browser is no error", async () => {
  openBrowser("http://127.0.0.1/", { platform: "linux", env: { PATH: folder, DISPLAY: ":0" } });
  openBrowser("http://127.0.0.1/", { platform: "linux", env: { PATH: "/none" } });
  await new Promise((resolve) => setImmediate(resolve));
});

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
