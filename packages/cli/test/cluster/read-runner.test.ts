import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseConfig } from "../../src/config/config.ts";
import { toSilentHost } from "../helpers/to-silent-host.ts";

type Values = Readonly<Record<string, unknown>>;

/** Parses options of the command line, and those of a configuration file. */
function parse(values: Values, content: Values = {}, defaults: Values = {}) {
  const home = mkdtempSync(join(tmpdir(), "budgie-runner-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const config = join(home, "budgie.json");
  writeFileSync(config, JSON.stringify(content));
  return parseConfig({ ...values, config }, toSilentHost({ home, cwd: home }), defaults);
}

const toRunner = ({ cluster, sandbox }: ReturnType<typeof parse>): string =>
  cluster === undefined ? (sandbox ? "docker" : "none") : "kubernetes";

const K8S = { runner: "kubernetes" };

describe("the runner of", () => {
  it.each<[Values, Values, string]>([
    [{}, {}, "none"],
    [{ sandbox: true }, {}, "docker"],
    [{ runner: "docker" }, {}, "docker"],
    [K8S, {}, "kubernetes"],
    [{ ...K8S, sandbox: true }, {}, "kubernetes"],
    [{}, K8S, "kubernetes"],
    // Every client's entry has it.
    [{ sandbox: true }, K8S, "kubernetes"],
    [{ runner: "docker" }, K8S, "docker"],
    [K8S, { sandbox: false }, "kubernetes"],
    [{ sandbox: "false" }, K8S, "none"],
  ])("%j and the file %j is %s", (values, content, runner) => {
    expect(toRunner(parse(values, content))).toBe(runner);
  });

  it("a command that has a sandbox by default is the one that is named", () => {
    expect(toRunner(parse({}, K8S, { sandbox: true }))).toBe("kubernetes");
    expect(toRunner(parse({}, {}, { sandbox: true }))).toBe("docker");
  });

  it.each<[Values, Values, RegExp]>([
    [
      { ...K8S, sandbox: false },
      {},
      /^--runner \(or BUDGIE_RUNNER\) is "kubernetes", which is a sandbox, and --sandbox/,
    ],
    [{}, { runner: "docker", sandbox: false }, /^"runner" in ".*" is "docker", which is a sandbox, and "sandbox" in "/],
    [{ runner: "local" }, {}, /^Expected --runner \(or BUDGIE_RUNNER\) to be "docker" or "kubernetes", got "local"/],
    [{ ...K8S, acceptWeaker: ["seccomp"] }, {}, /^The word "seccomp" of --accept-weaker .* needs --runner docker\./],
    [
      { sandbox: true, acceptWeaker: ["jail"] },
      {},
      /^The word "jail" of --accept-weaker .* needs --runner kubernetes\./,
    ],
    [{ ...K8S, runtime: "io.containerd/runsc" }, {}, /to be the name of a RuntimeClass, such as gvisor, got "io\.cont/],
    [{ ...K8S, kubernetesWait: "25h" }, {}, /^Expected --kubernetes-wait .* to be at most 24h, got "25h"/],
    [K8S, { kubernetesPorts: [70_000] }, /"kubernetesPorts\.0" in ".*" to be a port from 1 to 65535\./],
    [{ ...K8S, kubernetesPorts: ["0"] }, {}, /^Expected --kubernetes-ports .* to be a port from 1 to 65535, got "0"/],
    [{ ...K8S, kubernetesNamespace: "a/b" }, {}, /^Expected --kubernetes-namespace .* to be the name of a namespace/],
  ])("%j and the file %j is refused", (values, content, message) => {
    expect(() => parse(values, content)).toThrow(
      expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringMatching(message) }),
    );
  });
});

describe("the options of a cluster", () => {
  it("are those of the file and the command line, with an image only if somebody named one", () => {
    const content = { ...K8S, kubeconfig: "team.yaml", kubernetesPorts: [8080, "9090"], acceptWeaker: ["own-node"] };
    const { acceptWeaker, cluster, config = "", kubeconfig } = parse({ kubernetesContext: "team" }, content);

    expect(acceptWeaker).toEqual([]);
    expect(kubeconfig).toBe(join(config, "../team.yaml"));
    expect(cluster).toEqual({
      kubeconfig,
      context: "team",
      namespace: undefined,
      image: undefined,
      sidecarImage: undefined,
      acceptWeaker: ["own-node"],
      ports: [8080, 9090],
      waitMs: 600_000,
    });
    expect(parse({ ...K8S, sandboxImage: "a:1" }).cluster?.image).toBe("a:1");
  });

  it("have copies of directories, which a read-only access makes read-only, and nothing ahead", () => {
    expect(parse(K8S)).toMatchObject({ ahead: 0, policies: { ceiling: { workspace: "copy" } } });
    expect(parse({ ...K8S, ahead: "2" }).ahead).toBe(2);
    expect(parse({ ...K8S, workspace: "ro" }).policies.ceiling.workspace).toBe("ro-copy");
  });
});
