import { describe, expect, it } from "vitest";
import { findShownPath } from "../../src/pod/find-shown-path.ts";
import { toSandboxPod } from "../../src/pod/to-sandbox-pod.ts";
import { SHAPE } from "../helpers/pod-shape.ts";

const FOLDERS = ["/home/agent", "/work/tree", "/scratch/tmp"];
const LOCKED = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } };
const SIDECAR = { memory: "268435456", "ephemeral-storage": "67108864" };
const AGENT = { cpu: "250m", memory: "1073741824", "ephemeral-storage": "538968064" };

describe("the Pod of a session", () => {
  it("is this one", () => {
    expect(toSandboxPod(SHAPE)).toEqual({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "budgie-one", labels: { "dev.budgie.instance": "i" } },
      spec: {
        restartPolicy: "Never",
        activeDeadlineSeconds: 3600,
        terminationGracePeriodSeconds: 5,
        hostname: "sandbox",
        enableServiceLinks: false,
        automountServiceAccountToken: false,
        dnsPolicy: "None",
        dnsConfig: { nameservers: ["127.0.0.1"] },
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 1000,
          runAsGroup: 1001,
          fsGroup: 1001,
          seccompProfile: { type: "RuntimeDefault" },
          sysctls: [{ name: "net.ipv4.ip_local_port_range", value: "49152 60999" }],
        },
        containers: [
          {
            name: "budgie",
            image: "budgie-kubernetes:latest",
            imagePullPolicy: "Never",
            securityContext: LOCKED,
            resources: { requests: { cpu: "50m", ...SIDECAR }, limits: { cpu: "1", ...SIDECAR } },
            volumeMounts: [
              { name: "programs", mountPath: "/budgie" },
              { name: "home", mountPath: "/home" },
              { name: "work", mountPath: "/work" },
              { name: "scratch", mountPath: "/scratch" },
              { name: "auth", mountPath: "/auth" },
              { name: "shown", mountPath: "/shown" },
            ],
            lifecycle: {
              postStart: {
                exec: { command: ["/opt/budgie/hold", "prepare", "/opt/budgie", "/budgie", ...FOLDERS] },
              },
            },
          },
          {
            name: "agent",
            image: "budgie-demo:latest",
            imagePullPolicy: "Never",
            command: ["/budgie/hold"],
            workingDir: "/home/agent",
            terminationMessagePath: "/budgie-end",
            securityContext: LOCKED,
            resources: { requests: { ...AGENT, cpu: "100m" }, limits: AGENT },
            volumeMounts: [
              { name: "programs", mountPath: "/budgie", readOnly: true },
              { name: "home", mountPath: "/home/agent", subPath: "agent" },
              { name: "work", mountPath: "/workspace", subPath: "tree" },
              { name: "scratch", mountPath: "/tmp", subPath: "tmp" },
              { name: "auth", mountPath: "/auth", readOnly: true },
            ],
          },
        ],
        volumes: [
          { name: "programs", emptyDir: { medium: "Memory", sizeLimit: "8388608" } },
          { name: "home", emptyDir: { sizeLimit: "157286400" } },
          { name: "work", emptyDir: { sizeLimit: "314572800" } },
          { name: "scratch", emptyDir: { medium: "Memory", sizeLimit: "67108864" } },
          { name: "auth", emptyDir: { medium: "Memory", sizeLimit: "16777216" } },
          { name: "shown", emptyDir: { sizeLimit: "157286400" } },
        ],
      },
    });
  });

  it("needs a tenth of a processor free on a node, and may use more", () => {
    const [, agent] = toSandboxPod({ ...SHAPE, limits: { ...SHAPE.limits, cpus: 2 } }).spec.containers;

    expect([agent.resources.requests.cpu, agent.resources.limits.cpu]).toEqual(["100m", "2000m"]);
  });

  it("shows the host's files at the path of the user's home, read-only, unless that is needed for something else", () => {
    const [, agent] = toSandboxPod({ ...SHAPE, shownPath: findShownPath("/home/me", "/workspace") }).spec.containers;

    expect(agent.volumeMounts.at(-1)).toEqual({ name: "shown", mountPath: "/home/me", readOnly: true });
    for (const home of ["/home/me", "/Users/me", "/root"]) expect(findShownPath(home, "/workspace")).toBe(home);
    for (const home of [
      "/",
      "/home",
      "/home/agent",
      "/tmp/me",
      "/dev/shm/me",
      "/workspace",
      "/workspace/me",
      "/bin/me",
    ])
      expect(findShownPath(home, "/workspace")).toBeUndefined();
    expect(findShownPath("/home/me", "/home/me/code")).toBeUndefined();
  });

  it("has what only some sessions ask for", () => {
    const owner = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", name: "budgie-i", uid: "u" };

    const pod = toSandboxPod({ ...SHAPE, owner, runtimeClass: "gvisor", pullPolicy: undefined });

    expect(pod.metadata).toMatchObject({ ownerReferences: [owner] });
    expect(pod.spec).toMatchObject({ runtimeClassName: "gvisor" });
    expect(pod.spec.containers.filter((container) => "imagePullPolicy" in container)).toEqual([]);
  });

  it("has no variable of a turn, and only commands that are the same for all", () => {
    const { containers } = toSandboxPod(SHAPE).spec;
    const other = toSandboxPod({ ...SHAPE, name: "budgie-two", labels: {} }).spec;

    expect(containers.flatMap((container) => Object.keys(container)).filter((key) => key.startsWith("env"))).toEqual(
      [],
    );
    expect(other).toEqual(toSandboxPod(SHAPE).spec);
  });
});
