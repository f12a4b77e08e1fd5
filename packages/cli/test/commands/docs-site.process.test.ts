import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify, stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ERROR_CODES } from "@budgie/core";
import { configSchema } from "../../src/options/config-schema.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));

describe("the documentation site", () => {
  let site: string;
  beforeAll(async () => {
    site = mkdtempSync(join(tmpdir(), "budgie-docs-"));
    await build(join(ROOT, "docs"), site);
  }, 180_000);
  afterAll(() => rmSync(site, { recursive: true, force: true }));

  const headings = (page: string): readonly (string | undefined)[] => {
    const html = readFileSync(join(site, "reference", `${page}.html`), "utf8");
    return [...html.matchAll(/<h2 id="[^"]*"[^>]*>([^<]*?) <a/g)].map(([, text]) => text);
  };

  it("has every option, as the table of options has it", () => {
    const options = Object.keys(configSchema.shape).filter((key) => key !== "config");

    expect(headings("options")).toEqual(expect.arrayContaining(options));
  });

  it("has every command that the program names", async () => {
    const { stdout } = await run("node", [MAIN, "--help"]);
    const names = [...stdout.matchAll(/^ {2}([a-z][a-z-]+)(?: [A-Z[]| {2,})/gm)].map(([, name]) => name ?? "");

    const commands = names.filter((name) => !["help", "version"].includes(name)).map((name) => `budgie ${name}`);
    expect(commands.length).toBeGreaterThan(15);
    expect(headings("commands")).toEqual(
      expect.arrayContaining([...commands, "budgie runs show", "budgie config trust"]),
    );
  });

  it("has every error code", () => {
    expect(headings("error-codes")).toEqual([...ERROR_CODES]);
  });

  it("has a list of its pages for programs, with the pages", () => {
    const pages = [...readFileSync(join(site, "llms.txt"), "utf8").matchAll(/^- \[.+?\]\((.+?)\): ./gm)];

    expect(pages.length).toBeGreaterThan(25);
    for (const [, page] of pages) expect(readFileSync(join(site, `${page}.html`), "utf8")).toContain("<h1");
  });
});

it("A dead link fails the build of the documentation site", async () => {
  const folder = mkdtempSync(join(tmpdir(), "budgie-docs-"));
  const docs = join(folder, "docs");
  cpSync(join(ROOT, "docs/.vitepress"), join(docs, ".vitepress"), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(docs, "README.md"), "# Docs\n\n[nothing](nothing.md)\n");

  await expect(build(docs, join(folder, "site"))).rejects.toThrow("Found dead link ./nothing in file README.md");
  rmSync(folder, { recursive: true });
}, 60_000);

const MAIN = join(ROOT, "packages/cli/dist/main.js");

const run = promisify(execFile);

async function build(docs: string, site: string): Promise<void> {
  const vitepress = join(ROOT, "node_modules/.bin/vitepress");
  const options = { cwd: dirname(docs), env: { ...process.env, BUDGIE_DOCS_DIR: site } };
  await run(vitepress, ["build", docs], options).catch(({ stderr, stdout }: { stderr: string; stdout: string }) => {
    throw new Error(stripVTControlCharacters(stdout + stderr));
  });
}
