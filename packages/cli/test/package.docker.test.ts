import { execFile } from "node:child_process";
import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPrebuilt, installPacked, packPackages } from "./cluster/install-packed.ts";
import { createBudgieUser, TEST_IMAGE, toEngineVariables, type BudgieUser } from "./helpers/start-budgie.ts";
import { openEngine } from "./helpers/engine.ts";

const execute = promisify(execFile);
const root = fileURLToPath(new URL("../../../", import.meta.url));
interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly exports: Readonly<Record<string, unknown>>;
}

const published = readdirSync(join(root, "packages"))
  .map((folder) => JSON.parse(readFileSync(join(root, "packages", folder, "package.json"), "utf8")) as Manifest)
  .filter(({ private: isPrivate, name }) => isPrivate !== true && name.startsWith("@budgie/"));
const LIBRARIES = published.map(({ name }) => name);
const ENTRIES = published.flatMap(({ name, exports }) =>
  Object.keys(exports)
    .filter((entry) => entry !== "./package.json")
    .map((entry) => `${name}${entry.slice(1)}`),
);
const tag = `budgie-package-test:${process.pid}`;

let user: BudgieUser;
let tarballs: readonly string[];
beforeAll(async () => {
  user = await createBudgieUser();
  tarballs = await packPackages(user.host.home, ["budgie-mcp", ...LIBRARIES]);
});
afterAll(async () => {
  await user[Symbol.asyncDispose]();
  await (
    await openEngine()
  )
    .getImage(tag)
    .remove({ force: true })
    .catch(() => undefined);
});

describe("the packed program, installed in an empty folder", () => {
  it("is small, and installs, builds, checks and runs a sandboxed turn", async () => {
    const folder = join(user.host.home, "program");
    await installPacked(folder, [toTarball("budgie-mcp")], await createPrebuilt(user.host.home));
    const program = realpathSync(join(folder, "node_modules/.bin/budgie"));
    const env = { PATH: process.env["PATH"] ?? "", HOME: user.host.home, ...toEngineVariables() };
    const run = async (...argv: readonly string[]) => (await execute(program, argv, { cwd: folder, env })).stdout;

    const { stdout: kib } = await execute("du", ["-sk", join(folder, "node_modules")]);
    expect(Number.parseInt(kib, 10)).toBeLessThan(35 * 1024);
    expect(countPackages(join(folder, "node_modules"))).toBeLessThanOrEqual(90);

    expect(await run("install", "kiro", "--", "--allow-root", user.workspace)).toContain("Restart Kiro");
    const settings = readFileSync(join(user.host.home, ".kiro/settings/mcp.json"), "utf8");
    expect(JSON.parse(settings)).toMatchObject({
      mcpServers: { "kiro-subagents": { args: expect.arrayContaining([program]) } },
    });

    const options = [`BASE_IMAGE=${TEST_IMAGE}`, "KIRO_CLI=none", "TOOLS="].flatMap((arg) => ["--build-arg", arg]);
    expect(await run("build-image", "--tag", tag, ...options)).toMatch(/\nBuilt .*\n$/);

    expect(await run("doctor", "--sandbox-image", tag)).not.toMatch(/^failed/m);

    const budgie = await user.start({ program, sandbox: true, args: ["--sandbox-image", tag] });
    const { structuredContent } = await budgie.ask("code-reviewer", { prompt: "Say [[env HOME]]" });
    expect(structuredContent).toMatchObject({ isolation: "container", sessionId: expect.any(String) });
    await budgie.client.close();
  });
});

describe("the packed libraries, installed in an empty folder", () => {
  it("can be imported", async () => {
    const folder = join(user.host.home, "libraries");
    await installPacked(folder, LIBRARIES.map(toTarball), { npm_config_ignore_scripts: "true" });

    const script = `const names = ${JSON.stringify(ENTRIES)};
      const all = await Promise.all(names.map((name) => import(name)));
      console.log(names.filter((name, index) => Object.keys(all[index]).length === 0).join());`;
    const { stdout } = await execute(process.execPath, ["--input-type=module", "-e", script], { cwd: folder });

    // The only entry of types alone.
    expect(stdout).toBe("@budgie/core/copies\n");
  });
});

function toTarball(name: string): string {
  const start = `${name.replace("@", "").replace("/", "-")}-0`;
  const found = tarballs.find((file) => file.includes(`/${start}`));
  if (found === undefined) throw new Error(`${name} was not packed.`);
  return found;
}

function countPackages(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) =>
    /(?:^|node_modules\/)(?:@[^/]+\/)?[^/@]+\/package\.json$/.test(path),
  ).length;
}
