import { execFile } from "node:child_process";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findClusterLack } from "@budgie/testkit";
import { budgiePath } from "../../helpers/start-budgie.ts";
import { startUserCluster, type UserCluster } from "../../cluster/start-user-cluster.ts";
import { createInstallUser, type InstallUser } from "../install/create-install-user.ts";

const AGENTS = { own: { protocol: "acp", description: "sub-agent: Own.", command: "sh" } };
const LIMITS = { memory: "256m", disk: "100m" };
const lack = findClusterLack();

describe.skipIf(lack !== undefined)("with the chart and its account", () => {
  let cluster: UserCluster;
  let user: InstallUser;

  beforeAll(async () => {
    cluster = await startUserCluster("commands");
    user = createInstallUser();
    mkdirSync(join(user.home, ".config/budgie"), { recursive: true });
    const file = join(user.home, ".config/budgie/config.json");
    const config = { ...cluster.images, agents: AGENTS, limits: LIMITS, allowRoot: [realpathSync(user.project)] };
    writeFileSync(file, JSON.stringify(config));
    writeFileSync(join(user.project, "README"), "hello\n");
  }, 300_000);
  afterAll(async () => {
    user?.[Symbol.dispose]();
    await cluster?.[Symbol.asyncDispose]();
  }, 60_000);

  /** Runs a command of budgie in a process of its own: a session is kept once its process has ended. */
  const inPod = async (script: string, ...more: readonly string[]): Promise<string> => {
    const words = ["exec", "own", "-C", user.project, ...more, "--", "sh", "-c", script];
    const env = { HOME: user.home, PATH: "/usr/bin:/bin" };
    return (await promisify(execFile)(process.execPath, [budgiePath, ...words], { env })).stdout;
  };

  it("init writes the cluster, doctor sees its walls hold, and a session goes on in another Pod", async () => {
    const init = await user.run(["init", "--runner", "kubernetes", "--yes"], { KUBECONFIG: cluster.kubeconfig });
    const doctor = await user.run(["doctor", "--prove"]);

    // Nobody is logged in to Kiro.
    expect(init.stdout).toMatch(/^failed +login /m);
    expect(init.stdout.match(/^failed /gm)).toHaveLength(1);
    expect(doctor.stdout).toMatch(/^ok +walls +a Pod started, and its network policy and its jail each kept/m);
    expect(doctor.stdout).toMatch(/^ok +program +"\/\S*sh" in the image$/m);
    expect(doctor.exitCode).toBe(0);

    // The session is resumed in another Pod, with its copy and its home.
    expect(await inPod("echo new >NEW; echo mine >~/note")).toBe("");
    expect(await cluster.listObjects()).toBe("");
    expect((await user.run(["sessions", "ls"])).stdout).toMatch(/ kept until /);
    expect(await inPod("cat README NEW ~/note", "--continue")).toBe("hello\nnew\nmine\n");
    expect((await user.run(["changes", "ls"])).stdout).toMatch(/ 1 added /);
    expect(await cluster.listObjects()).toBe("");
  }, 300_000);
});
