import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { startCluster, type Cluster } from "@budgie/testkit";
import { writeKubeconfig } from "../../../runner-kubernetes/test/helpers/fake-api.ts";

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
  return {
    server,
    images,
    kubeconfig: await logIn(server),
    listObjects: async () => (await server.kubectl(["-n", "budgie", "get", "pods,leases", "--output=name"])).stdout,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      for (const image of Object.values(images)) execFileSync("docker", ["rmi", image]);
    },
  };
}

async function logIn(server: Cluster): Promise<string> {
  const { stdout: token } = await server.kubectl(["-n", "budgie", "create", "token", "budgie"]);
  const admin = readFileSync(server.kubeconfig, "utf8");
  const [, address = ""] = /server: "([^"]+)"/.exec(admin) ?? [];
  const [, authority = ""] = /certificate-authority-data: ([^,}\s]+)/.exec(admin) ?? [];
  return writeKubeconfig({ server: address, "certificate-authority-data": authority }, { token: token.trim() });
}
