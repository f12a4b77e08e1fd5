import type { PodShape } from "../../src/pod/index.ts";

const MIB = 1024 * 1024;

/** The shape of a small Pod, with images that a test cluster has. */
export const SHAPE: PodShape = {
  name: "budgie-one",
  images: { agent: "budgie-demo:latest", sidecar: "budgie-kubernetes:latest" },
  pullPolicy: "Never",
  user: { uid: 1000, gid: 1001 },
  limits: {
    cpus: 0.25,
    memoryBytes: 1024 * MIB,
    homeBytes: 100 * MIB,
    copyBytes: 200 * MIB,
    tmpBytes: 64 * MIB,
  },
  workspace: "/workspace",
  labels: { "dev.budgie.instance": "i" },
  mostSeconds: 3600,
};
