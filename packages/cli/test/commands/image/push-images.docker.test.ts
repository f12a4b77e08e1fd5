import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { loadVersion } from "@budgie/mcp-server";
import { findOnPath } from "../../../src/process/find-on-path.ts";
import { runCli } from "../../../src/run-cli.ts";
import { startRegistry } from "./start-registry.ts";
import { toSilentHost } from "../../helpers/to-silent-host.ts";

const docker = findOnPath("docker", process.env["PATH"]);

describe.skipIf(docker === undefined)("budgie image push with the docker program", () => {
  it("pushes both images with the user's login, and prints their digests as keys", async () => {
    await using registry = await startRegistry("me:canary");
    const home = mkdtempSync(join(tmpdir(), "budgie-push-"));
    onTestFinished(() => rmSync(home, { recursive: true }));
    const auths = { [registry.host]: { auth: Buffer.from("me:canary").toString("base64") } };
    writeFileSync(join(home, "config.json"), JSON.stringify({ auths }));
    const image = `budgie-push-${randomUUID()}`;
    const repository = `${registry.host}/team/budgie`;
    const names = [image, `${repository}:agents`, `${repository}:budgie-${loadVersion()}`];
    execFileSync("docker", ["import", "-", image], { input: Buffer.alloc(1024) });
    onTestFinished(() => void execFileSync("docker", ["rmi", "--force", ...names], { stdio: "ignore" }));
    const [stdout, reports]: [PassThrough, string[]] = [new PassThrough(), []];
    const report = (line: string): void => void reports.push(line);
    const host = toSilentHost({
      home,
      cwd: home,
      stdout,
      report,
      env: { ...process.env, DOCKER_CONFIG: home },
    });

    const push = ["image", "push", repository, "--image", image, "--base", "scratch"];
    expect({ exitCode: await runCli(push, host), reports }).toMatchObject({ exitCode: 0 });

    const digestOf = (tag: string) => registry.manifests.get(`team/budgie:${tag}`)?.digest;
    expect(String(stdout.read())).toBe(
      `budgie config set sandboxImage ${repository}@${digestOf("agents")}\n` +
        `budgie config set kubernetesSidecarImage ${repository}@${digestOf(`budgie-${loadVersion()}`)}\n`,
    );
    const layers = [...registry.manifests.values()].flatMap((manifest) => manifest.layers);
    expect(layers.every((layer) => registry.blobs.has(layer))).toBe(true);
    expect(reports.join("\n")).not.toContain("canary");

    writeFileSync(join(home, "config.json"), "{}");
    expect(await runCli(push, host)).toBe(1);
    expect(reports.at(-1)).toMatch(
      /^Pushing .* failed: .* needs a login that may push there, such as of docker login\.$/,
    );
  });
});
