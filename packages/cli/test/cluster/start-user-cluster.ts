import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startCluster, type Cluster } from "@budgie/testkit";

/** A cluster with budgie's chart and images, for its commands. */
export type UserCluster = AsyncDisposable & {
  readonly server: Cluster;
  /** The images, as keys of the configuration file */
  readonly images: { readonly sandboxImage: string; readonly kubernetesSidecarImage: string };
  /** Path of a kubeconfig with a token of the account `budgie` */
  readonly kubeconfig: string;
  /** Prints the Pods and Leases of budgie's namespace, a line each */
  readonly listObjects: () => Promise<string>;
};

const RENDERED = readFileSync(fileURLToPath(new URL("../../../../deploy/rendered.yaml", import.meta.url)), "utf8");

/** Starts a cluster. Its images have its name as their tag. `pods` is the most of them at once. */
export async function startUserCluster(name: string, pods = 20): Promise<UserCluster> {
  // A fixed tag, which nodes do not ask a registry for.
  const images = { sandboxImage: `budgie-demo:${name}`, kubernetesSidecarImage: `budgie-kubernetes:${name}` };
  for (const image of Object.values(images)) execFileSync("docker", ["tag", image.replace(/:.*/, ":latest"), image]);
  const server = await startCluster(name, Object.values(images));
  const chart = RENDERED.replace("registry.example.com/budgie/", "budgie-").replace('pods: "20"', `pods: "${pods}"`);
  await server.kubectl(["apply", "-f", "-"], chart);
  await server.kubectl(["-n", "budgie", "wait", "--for=create", "serviceaccount/default", "--timeout=100s"]);
  const folder = mkdtempSync(join(tmpdir(), "budgie-kubeconfig-"));
  const kubeconfig = join(folder, "config");
  writeFileSync(kubeconfig, await logIn(server), { mode: 0o600 });
  return {
    server,
    images,
    kubeconfig,
    listObjects: async () => (await server.kubectl(["-n", "budgie", "get", "pods,leases", "--output=name"])).stdout,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
      for (const image of Object.values(images)) execFileSync("docker", ["rmi", image]);
    },
  };
}

/** Returns a kubeconfig with a token of the chart's account, and without its namespace. */
async function logIn(server: Cluster): Promise<string> {
  const { stdout: token } = await server.kubectl(["-n", "budgie", "create", "token", "budgie"]);
  const admin = readFileSync(server.kubeconfig, "utf8");
  const [, address = ""] = /server: "([^"]+)"/.exec(admin) ?? [];
  const [, authority = ""] = /certificate-authority-data: ([^,}\s]+)/.exec(admin) ?? [];
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "team",
    clusters: [{ name: "team", cluster: { server: address, "certificate-authority-data": authority } }],
    users: [{ name: "budgie", user: { token: token.trim() } }],
    contexts: [{ name: "team", context: { cluster: "team", user: "budgie" } }],
  });
}
