import { NOBODY } from "../../src/network/network-claims.ts";

/** The place of a plain Pod. */
export type PlainShape = {
  readonly name: string;
  readonly image: string;
  /** The socket of the node's engine */
  readonly socket: string;
  /** A folder of the node, which the Pod has at the same path */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
};

// The folders that an agent's container has of its own.
const FOLDERS = ["/workspace", "/home", "/auth", "/tmp"];
const SOCKETS = ["/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock"];

/** Returns a Pod without any of budgie's protections: its processes are root, with each capability and device, and all of the node's. */
export function toPlainPod({ env, folder, image, name, socket }: PlainShape) {
  const variables = Object.entries({ ...env, HOME: "/home/agent" }).map(([key, value]) => ({ name: key, value }));
  // With the node's network, a Pod has also the node's name.
  const node = name === "node" ? { hostIPC: true, hostNetwork: true, hostPID: true } : {};
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      ...node,
      restartPolicy: "Never",
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      dnsPolicy: "None",
      dnsConfig: { nameservers: [NOBODY.resolver] },
      containers: [
        {
          name,
          image,
          command: ["sleep", "infinity"],
          env: variables,
          securityContext: { privileged: true, runAsUser: 0 },
          volumeMounts: [
            ...FOLDERS.map((mountPath) => ({ name: "own", mountPath, subPath: mountPath.slice(1) })),
            ...SOCKETS.map((mountPath) => ({ name: "engine", mountPath })),
            { name: "memory", mountPath: "/dev/shm" },
            { name: "host", mountPath: folder },
            // Where a sandbox of an engine has its proxy's socket until it starts.
            { name: "own", mountPath: "/run/budgie", subPath: "run" },
          ],
        },
      ],
      volumes: [
        { name: "own", emptyDir: {} },
        { name: "memory", emptyDir: { medium: "Memory" } },
        { name: "engine", hostPath: { path: socket, type: "Socket" } },
        { name: "host", hostPath: { path: folder, type: "Directory" } },
      ],
    },
  };
}
