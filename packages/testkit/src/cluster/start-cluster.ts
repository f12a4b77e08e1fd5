import { execFile, execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A Kubernetes cluster of one node, on this machine. */
export type Cluster = AsyncDisposable & {
  /** Path of the configuration of clients */
  readonly kubeconfig: string;
  /** Path of the log of all requests, with their bodies */
  readonly auditLog: string;
  /** Folder of everything that the API server stored */
  readonly storage: string;
  /** Runs kubectl, which reads the input, and rejects with what it printed on stderr. */
  readonly kubectl: (argv: readonly string[], input?: string) => Promise<ClientOutput>;
  /** Runs Helm, as `kubectl` does. */
  readonly helm: (argv: readonly string[], input?: string) => Promise<ClientOutput>;
  /** Sends a signal to a program of the cluster, which is started again once it has ended. */
  signal(program: ClusterProgram, signal: "CONT" | "KILL" | "STOP"): void;
};

/** A program of a cluster. */
type ClusterProgram =
  | "containerd"
  | "etcd"
  | "kube-apiserver"
  | "kube-controller-manager"
  | "kube-router"
  | "kube-scheduler"
  | "kubelet";

type ClientOutput = { readonly stdout: string; readonly stderr: string };

const SCRIPT = fileURLToPath(new URL("../../../../scripts/test-cluster", import.meta.url));

/** Says why no cluster can be started here, if that is so. */
export function findClusterLack(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "only root on Linux can start a cluster";
  const { status, stderr } = spawnSync(SCRIPT, ["built"], { encoding: "utf8" });
  return status === 0 ? undefined : stderr.trim();
}

/** Starts a cluster with images of the container engine, unless it runs. `environment` is that of `scripts/test-cluster up`. */
export async function startCluster(
  name: string,
  images: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Cluster> {
  const state = toStateFolder(name);
  const script = (...argv: readonly string[]) => run(SCRIPT, argv, { env: { ...process.env, ...environment } });
  const kubeconfig = join(state, "kubeconfig");
  await script("up", name);
  if (images.length > 0) await script("images", name, ...images);
  const helmFolders = ["CACHE", "CONFIG", "DATA"].map((of) => [`HELM_${of}_HOME`, join(state, "helm")] as const);
  const env = {
    ...process.env,
    ...Object.fromEntries(helmFolders),
    KUBECONFIG: kubeconfig,
    KUBECACHEDIR: join(state, "kubectl"),
  };
  const runClient = (client: string) => (argv: readonly string[], input?: string) =>
    run(join(state, "kube"), [client, ...argv], { env, input });
  return {
    kubeconfig,
    auditLog: join(state, "audit.log"),
    storage: join(state, "etcd"),
    kubectl: runClient("kubectl"),
    helm: runClient("helm"),
    signal(program, signal) {
      const read = (file: string): string => readFileSync(join(state, file), "utf8").trim();
      // Process ids are those of the cluster's own namespace.
      execFileSync("nsenter", ["--target", read("pid"), "--all", "kill", `-${signal}`, read(`run/${program}`)]);
    },
    [Symbol.asyncDispose]: async () => {
      await script("down", name);
    },
  };
}

/** Ends a cluster, and removes all that it left. */
export async function endCluster(name: string): Promise<void> {
  await run(SCRIPT, ["down", name], { env: process.env });
}

/** Returns the folder of a cluster, which only root can read. */
export function toStateFolder(name: string): string {
  return `/tmp/budgie-cluster-${name}`;
}

type Options = { readonly env: NodeJS.ProcessEnv; readonly input?: string | undefined };

function run(program: string, argv: readonly string[], { env, input = "" }: Options): Promise<ClientOutput> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, argv, { env }, (error, stdout, stderr) => {
      if (error === null) resolve({ stdout, stderr });
      else reject(new Error(stderr || stdout || error.message));
    });
    // A program that does not read its input may end before it is written.
    child.stdin?.on("error", () => undefined).end(input);
  });
}
