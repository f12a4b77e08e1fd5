import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkSandboxOptions } from "../../src/config/check-sandbox-options.ts";
import { parseConfig } from "../../../cli/src/config/config.ts";
import { toSilentHost } from "../../../cli/test/helpers/to-silent-host.ts";

type Values = Readonly<Record<string, unknown>>;

const IMAGES = { sandboxImage: "registry.test/agents:1", kubernetesSidecarImage: "registry.test/budgie:1" };

/** Checks the options of a configuration file for one runner. */
function check(content: Values, runner: string, images: Values = IMAGES): void {
  const home = mkdtempSync(join(tmpdir(), "budgie-cluster-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const config = join(home, "budgie.json");
  writeFileSync(config, JSON.stringify({ ...content, ...images, runner }));
  checkSandboxOptions(parseConfig({ config }, toSilentHost({ home, cwd: home })), { uid: 1000 });
}

const SERVICE = { image: "postgres", port: 5432 };
const PROGRAM = { protocol: "acp", description: "sub-agent: A.", command: "a" };
const HERE = "/srv/shop";
const inHere = (section: object): Values => ({ workspaces: { [HERE]: section } });

describe("a cluster", () => {
  it.each<[Values, RegExp]>([
    [{ workspace: "rw" }, /^--workspace rw needs --runner docker: a cluster sees no directory of this machine\./],
    [{ egress: "bridge" }, /^--egress bridge needs --runner docker: /],
    [inHere({ mounts: ["/opt/sdk"] }), /^"mounts" of "\/srv\/shop" .* a cluster sees no path/],
    [inHere({ subfolderGit: true }), /^"subfolderGit" of "\/srv\/shop" .* it takes the objects from this machine/],
    [inHere({ cache: ["npm"] }), /^"cache" of "\/srv\/shop" .* no download outlives its session/],
    [inHere({ services: { db: SERVICE } }), /^"services" of "\/srv\/shop" .* no service runs beside a sandbox/],
    [inHere({ requireImage: true }), /^"requireImage" of "\/srv\/shop" .* is on this machine's engine/],
    [inHere({ image: "shop:1" }), /^The image "shop:1" of "\/srv\/shop" .* all sandboxes have that of --sandbox-image/],
    [inHere({ agents: { a: { image: "shop:1" } } }), /^The image "shop:1" of the agent "a" in "\/srv\/shop" /],
    [{ agents: { a: { ...PROGRAM, image: "own:1" } } }, /^The image "own:1" of the agent "a" /],
    [{ agents: { a: { mcp: { git: { run: "sandbox" } } } } }, /^"agents\.a\.mcp\.git\.run" .* Set it to "host"/],
  ])("refuses %j, which an engine takes", (content, message) => {
    const refusal = expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringMatching(message) });

    expect(() => check(content, "kubernetes")).toThrow(refusal);
    expect(() => check(content, "docker")).not.toThrow();
  });

  it("refuses a start without an image that was named for it, and without budgie's own", () => {
    expect(() => check({}, "kubernetes", { kubernetesSidecarImage: "b:1" })).toThrow(/needs --sandbox-image: /);
    expect(() => check({}, "kubernetes", { sandboxImage: "a:1" })).toThrow(/needs "kubernetesSidecarImage": /);
    expect(() => check({}, "kubernetes")).not.toThrow();
  });

  it("takes what works there: read-only agents, its one image by its name, and servers of this machine", () => {
    const agents = { a: { workspace: "ro", mcp: { git: { run: "host" }, web: {} } } };

    expect(() => check({ agents, ...inHere({ image: IMAGES.sandboxImage, env: {} }) }, "kubernetes")).not.toThrow();
  });
});
