import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createInstallUser } from "../install/create-install-user.ts";
import { DIGEST, serveCluster } from "./serve-cluster.ts";

/** Runs doctor for a cluster, as a user with an agent whose program has no login. */
async function examine(kubeconfig: string, content: object, args: readonly string[] = []) {
  using user = createInstallUser();
  const file = join(user.project, "budgie.json");
  const agents = { own: { protocol: "acp", description: "sub-agent: Own.", command: "own", env: ["OWN_KEY"] } };
  writeFileSync(file, JSON.stringify({ runner: "kubernetes", kubeconfig, agents, ...content }));
  return await user.run(["doctor", "--config", file, ...args], { OWN_KEY: "canary" });
}

const IMAGES = { sandboxImage: `registry.test/a@${DIGEST}`, kubernetesSidecarImage: "registry.test/b:1" };

describe("budgie doctor --runner kubernetes", () => {
  it("says what the cluster gives, wall by wall, and asks no engine", async () => {
    const { kubeconfig } = await serveCluster();

    const { exitCode, stdout } = await examine(kubeconfig, IMAGES);

    expect(stdout).toContain('ok      cluster    Kubernetes v1.34.4, context "fake", namespace "agents"\n');
    expect(stdout).toMatch(/^ok +security +Pod Security "restricted"/m);
    expect(stdout).toMatch(/^ok +policy +"deny-all" denies all traffic/m);
    expect(stdout).toMatch(/^note +quota /m);
    expect(stdout).toMatch(/^ok +image +registry\.test\/a@sha256:a+, as "sandboxImage"$/m);
    expect(stdout).toMatch(/^note +image +registry\.test\/b:1, as "kubernetesSidecarImage": a tag may name another/m);
    expect(stdout).toMatch(/^ok +agents +own, in /m);
    expect(stdout).not.toMatch(/ engine |canary/);
    expect(exitCode).toBe(0);
  });

  it("fails for what is missing, with the command that mends it", async () => {
    const { kubeconfig } = await serveCluster("security");

    const { exitCode, stdout } = await examine(kubeconfig, IMAGES);

    expect(stdout).toMatch(
      /^failed +security +the label pod-security\.kubernetes\.io\/enforce of the namespace "agents"/m,
    );
    expect(stdout).toMatch(
      /\nTo do:\n {2}kubectl label --overwrite namespace agents pod-security\.kubernetes\.io\/enforce=/,
    );
    expect(exitCode).toBe(1);
  });

  it("exits with 3 if no sandbox can start: without an answer of the cluster, or without images", async () => {
    const { kubeconfig } = await serveCluster();
    const lost = join(import.meta.dirname, "../../fixtures/lost-cluster.yaml");

    const without = await examine(kubeconfig, {});
    const silent = await examine(lost, IMAGES, ["--json"]);

    expect(without.exitCode).toBe(3);
    expect(without.stdout).toMatch(/To do:\n {2}budgie image push REGISTRY\/NAME /);
    expect(silent.exitCode).toBe(3);
    expect(JSON.parse(silent.stdout)).toMatchObject({
      ok: false,
      findings: expect.arrayContaining([
        { state: "failed", what: "cluster", text: expect.stringContaining('"lost" cannot be reached') },
      ]),
    });
  });

  it("refuses to look into an image of the engine", async () => {
    await expect(examine("/nowhere", IMAGES, ["--image", "a"])).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  });
});
