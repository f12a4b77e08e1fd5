import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createInstallUser, type InstallUser } from "../install/create-install-user.ts";
import { DIGEST, serveCluster } from "./serve-cluster.ts";

const fileOf = ({ home }: InstallUser) => join(home, ".config/budgie/config.json");
const readKeys = (user: InstallUser): unknown => JSON.parse(user.read(fileOf(user)));
const INIT = ["init", "--runner", "kubernetes"];

describe("budgie init --runner kubernetes", () => {
  it("writes the cluster of the current context, and says what is missing there, with the command for it", async () => {
    using user = createInstallUser();
    const { kubeconfig } = await serveCluster("security");

    const { exitCode, stdout } = await user.run([...INIT, "--yes"], { KUBECONFIG: kubeconfig });

    expect(readKeys(user)).toEqual({
      runner: "kubernetes",
      // A client may start budgie without KUBECONFIG.
      kubeconfig,
      kubernetesContext: "fake",
      kubernetesNamespace: "budgie",
    });
    expect(stdout.match(/^Wrote /gm)).toHaveLength(1);
    expect(stdout).toContain('\n+  "kubernetesContext": "fake",\n');
    expect(stdout).toMatch(/^ok +cluster +Kubernetes v1\.34\.4, context "fake", namespace "budgie"$/m);
    expect(stdout).toMatch(
      /\nTo do:\n[^]* {2}kubectl label --overwrite namespace budgie [^]* {2}budgie image push REGISTRY\/NAME/,
    );
    expect(stdout).toMatch(/Then run "budgie init --runner kubernetes" again\.\n$/);
    expect(exitCode).toBe(3);
  });

  it("keeps what the user chose, and writes nothing twice", async () => {
    using user = createInstallUser();
    const { kubeconfig } = await serveCluster();
    const keys = { kubeconfig, kubernetesContext: "fake", kubernetesNamespace: "mine", sandboxImage: `a/b@${DIGEST}` };
    user.write(fileOf(user), JSON.stringify({ runner: "kubernetes", ...keys }));

    const { stdout } = await user.run(["init"]);

    expect(stdout).toMatch(/^ok +cluster .* namespace "mine"$/m);
    expect(stdout).not.toContain("Wrote");
    expect(readKeys(user)).toEqual({ runner: "kubernetes", ...keys });
  });

  it("writes nothing if nobody agrees to a context, and names those that there are", async () => {
    using user = createInstallUser();
    const { kubeconfig } = await serveCluster();

    await expect(user.run(INIT, { KUBECONFIG: kubeconfig })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(
        /^No context was chosen; the kubeconfig has fake\. Name one with "budgie config set/,
      ),
    });
    expect(user.files()).toEqual({});
  });
});
