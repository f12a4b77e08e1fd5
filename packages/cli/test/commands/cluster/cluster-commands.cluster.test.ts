import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findClusterLack, startCluster, type Cluster } from "@budgie/testkit";
import { writeKubeconfig } from "../../../../runner-kubernetes/test/helpers/fake-api.ts";
import { budgiePath } from "../../helpers/start-budgie.ts";
import { createInstallUser, type InstallUser } from "../install/create-install-user.ts";

const RENDERED = readFileSync(fileURLToPath(new URL("../../../../../deploy/rendered.yaml", import.meta.url)), "utf8");
// A fixed tag, which nodes do not ask a registry for.
const IMAGES = { sandboxImage: "budgie-demo:commands", kubernetesSidecarImage: "budgie-kubernetes:commands" };
const AGENTS = { own: { protocol: "acp", description: "sub-agent: Own.", command: "sh" } };
const LIMITS = { cpus: 0.2, memory: "256m", disk: "100m" };
const lack = findClusterLack();

describe.skipIf(lack !== undefined)("with the chart and its account", () => {
  let server: Cluster;
  let user: InstallUser;
  let kubeconfig: string;

  beforeAll(async () => {
    for (const image of Object.values(IMAGES)) {
      execFileSync("docker", ["tag", image.replace(/:commands$/, ":latest"), image]);
    }
    server = await startCluster("commands", Object.values(IMAGES));
    await server.kubectl(["apply", "-f", "-"], RENDERED.replace("registry.example.com/budgie/", "budgie-"));
    await server.kubectl(["-n", "budgie", "wait", "--for=create", "serviceaccount/default", "--timeout=100s"]);
    user = createInstallUser();
    mkdirSync(join(user.home, ".config/budgie"), { recursive: true });
    const file = join(user.home, ".config/budgie/config.json");
    const config = { ...IMAGES, agents: AGENTS, limits: LIMITS, allowRoot: [realpathSync(user.project)] };
    writeFileSync(file, JSON.stringify(config));
    writeFileSync(join(user.project, "README"), "hello\n");
  }, 300_000);
  afterAll(async () => {
    user?.[Symbol.dispose]();
    await server?.[Symbol.asyncDispose]();
    for (const image of Object.values(IMAGES)) execFileSync("docker", ["rmi", image]);
  }, 60_000);

  const listObjects = async (): Promise<string> =>
    (await server.kubectl(["-n", "budgie", "get", "pods,leases", "--output=name"])).stdout;
  /** Runs a command of budgie in a process of its own: a session is kept once its process has ended. */
  const inPod = async (script: string, ...more: readonly string[]): Promise<string> => {
    const words = ["exec", "own", "-C", user.project, ...more, "--", "sh", "-c", script];
    const env = { HOME: user.home, PATH: "/usr/bin:/bin" };
    return (await promisify(execFile)(process.execPath, [budgiePath, ...words], { env })).stdout;
  };

  it("init writes the cluster, doctor sees its walls hold, and a session goes on in another Pod", async () => {
    const { stdout: token } = await server.kubectl(["-n", "budgie", "create", "token", "budgie"]);
    const admin = readFileSync(server.kubeconfig, "utf8");
    const [, address = ""] = /server: "([^"]+)"/.exec(admin) ?? [];
    const [, authority = ""] = /certificate-authority-data: ([^,}\s]+)/.exec(admin) ?? [];
    const cluster = { server: address, "certificate-authority-data": authority };
    kubeconfig = writeKubeconfig(cluster, { token: token.trim() });
    const init = await user.run(["init", "--runner", "kubernetes", "--yes"], { KUBECONFIG: kubeconfig });
    const doctor = await user.run(["doctor", "--prove"]);

    // Nobody is logged in to Kiro.
    expect(init.stdout).toMatch(/^failed +login /m);
    expect(init.stdout.match(/^failed /gm)).toHaveLength(1);
    expect(doctor.stdout).toMatch(/^ok +walls +a Pod started, and its network policy and its jail each kept/m);
    expect(doctor.stdout).toMatch(/^ok +program +"\/\S*sh" in the image$/m);
    expect(doctor.exitCode).toBe(0);

    // The session is resumed in another Pod, with its copy and its home.
    expect(await inPod("echo new >NEW; echo mine >~/note")).toBe("");
    expect(await listObjects()).toBe("");
    expect((await user.run(["sessions", "ls"])).stdout).toMatch(/ kept until /);
    expect(await inPod("cat README NEW ~/note", "--continue")).toBe("hello\nnew\nmine\n");
    expect((await user.run(["changes", "ls"])).stdout).toMatch(/ 1 added /);
    expect(await listObjects()).toBe("");
  }, 300_000);
});
