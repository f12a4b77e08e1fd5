import { beforeAll, afterAll, describe, expect, it } from "vitest";
import { createNamespace, findClusterLack, shareCluster, type Cluster } from "@budgie/testkit";
import { toSandboxPod } from "../../src/pod/to-sandbox-pod.ts";
import { SHAPE } from "../helpers/pod-shape.ts";

const lack = findClusterLack();
// The usual reporter does not print titles of what it skips.
if (lack !== undefined) process.stderr.write(`Skipped: ${lack}\n`);

describe.skipIf(lack !== undefined)("the Pod of a session on a cluster", () => {
  let cluster: Cluster;
  const admit = async (pod: unknown) =>
    (
      await cluster.kubectl(
        ["-n", "admission", "create", "--dry-run=server", "-o=json", "-f", "-"],
        JSON.stringify(pod),
      )
    ).stdout;

  beforeAll(async () => {
    cluster = await shareCluster(["admission"]);
    await createNamespace(cluster, "admission");
  }, 300_000);
  afterAll(() => cluster?.[Symbol.asyncDispose](), 60_000);

  it("is admitted where Pod security is restricted, and stays as it was sent", async () => {
    const pod = toSandboxPod(SHAPE);

    const admitted: unknown = JSON.parse(await admit(pod));

    const { containers, dnsConfig, hostname, restartPolicy, securityContext } = pod.spec;
    expect(admitted).toMatchObject({
      spec: {
        hostname,
        restartPolicy,
        dnsConfig,
        securityContext,
        automountServiceAccountToken: false,
        containers: containers.map((container) => ({
          name: container.name,
          volumeMounts: container.volumeMounts,
          ...("terminationMessagePath" in container
            ? { terminationMessagePath: container.terminationMessagePath }
            : {}),
        })),
      },
    });
  });

  it("is refused with one permission more", async () => {
    const pod = toSandboxPod(SHAPE);
    const securityContext = { ...pod.spec.securityContext, runAsNonRoot: false };

    await expect(admit({ ...pod, spec: { ...pod.spec, securityContext } })).rejects.toThrow("violates PodSecurity");
  });
});
