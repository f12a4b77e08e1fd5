import { SANDBOX } from "@budgie/sandbox/profile";
import { POD } from "../requests/pod-paths.ts";
import type { PodShape } from "./pod-shape.ts";
import { AGENT_FOLDERS, countDiskBytes, listAgentMounts, listSidecarMounts, listVolumes } from "./list-volumes.ts";

const MIB = 1024 * 1024;
const SIDECAR = { memory: String(256 * MIB), "ephemeral-storage": String(64 * MIB) };
// It waits most of the time, and is quick when it starts or carries files.
const SIDECAR_REQUESTS = { cpu: "50m", ...SIDECAR };
const SIDECAR_LIMITS = { cpu: "1", ...SIDECAR };
// Logs of kubelet count as well.
const OWN_DISK_BYTES = 64 * MIB;
const GRACE_SECONDS = 5;
// An agent waits for its model most of the time, and the sandboxes of a team wait at different times.
const RESERVED_CPUS = 0.1;
/**
 * The ports from which the Pod's kernel chooses for whoever names none. The jail leaves them open, a rule each, which takes time in every process. It
 * is the part of Linux's own range that IANA leaves to such ports (RFC 6335).
 */
const EPHEMERAL_PORTS = { name: "net.ipv4.ip_local_port_range", value: "49152 60999" };

/**
 * The hook of the sidecar that makes what the agent's container needs. Kubelet makes that container after it; it would make the folders itself, of
 * root, and git would trust no copy in them.
 */
const PREPARE = [`${POD.image}/hold`, "prepare", POD.image, POD.programs, ...AGENT_FOLDERS];

const LOCKED = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ["ALL"] },
};

/** Returns the Pod of a session, which Pod Security `restricted` admits. */
export function toSandboxPod(shape: PodShape) {
  const { images, labels, limits, mostSeconds, name, owner, runtimeClass, user } = shape;
  const pull = shape.pullPolicy === undefined ? {} : { imagePullPolicy: shape.pullPolicy };
  const agent = {
    memory: String(limits.memoryBytes),
    "ephemeral-storage": String(countDiskBytes(limits) + OWN_DISK_BYTES),
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels, ...(owner === undefined ? {} : { ownerReferences: [owner] }) },
    spec: {
      ...(runtimeClass === undefined ? {} : { runtimeClassName: runtimeClass }),
      restartPolicy: "Never",
      activeDeadlineSeconds: mostSeconds,
      terminationGracePeriodSeconds: GRACE_SECONDS,
      hostname: "sandbox",
      // Variables would tell agents of the namespace's services.
      enableServiceLinks: false,
      automountServiceAccountToken: false,
      // A nameserver that is not there: names are for the proxy to look up.
      dnsPolicy: "None",
      dnsConfig: { nameservers: ["127.0.0.1"] },
      securityContext: {
        runAsNonRoot: true,
        runAsUser: user.uid,
        runAsGroup: user.gid,
        fsGroup: user.gid,
        seccompProfile: { type: "RuntimeDefault" },
        sysctls: [EPHEMERAL_PORTS],
      },
      containers: [
        {
          name: POD.sidecar,
          image: images.sidecar,
          ...pull,
          securityContext: LOCKED,
          resources: { requests: SIDECAR_REQUESTS, limits: SIDECAR_LIMITS },
          volumeMounts: listSidecarMounts(),
          lifecycle: { postStart: { exec: { command: PREPARE } } },
        },
        {
          name: POD.agent,
          image: images.agent,
          ...pull,
          command: [`${POD.programs}/hold`],
          workingDir: SANDBOX.home,
          // In place of a file of the node that everybody may write, outside all limits.
          terminationMessagePath: "/budgie-end",
          securityContext: LOCKED,
          resources: {
            requests: { cpu: toCpu(Math.min(limits.cpus, RESERVED_CPUS)), ...agent },
            limits: { cpu: toCpu(limits.cpus), ...agent },
          },
          volumeMounts: listAgentMounts(shape),
        },
      ] as const,
      volumes: listVolumes(limits),
    },
  };
}

function toCpu(cpus: number): string {
  return `${Math.ceil(cpus * 1000)}m`;
}
