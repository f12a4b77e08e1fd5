import { describe, expect, it } from "vitest";
import { createGate, type ProvenPod } from "../../src/proof/gate.ts";
import type { Wall } from "../../src/proof/judge-walls.ts";
import { findAddresses, listTargets, parseHostPort } from "../../src/proof/list-targets.ts";
import { parseScanReport } from "../../src/proof/scan-report.ts";
import type { ProcessOrder } from "../../src/requests/index.ts";

const OWN = "tcp:127.0.0.1:3128";
const POD: ProvenPod = {
  nodeAddress: "10.1.0.2",
  service: "10.96.0.1:443",
  kernel: { landlock: 6, ports: [32_768, 60_999] },
};

type Given = {
  readonly server?: string;
  readonly pod?: Partial<ProvenPod>;
  readonly accepted?: readonly Wall[];
  /** The ports of the node that are open */
  readonly listening?: string;
  /** True if budgie itself reaches the API server */
  readonly isReached?: boolean;
  /** The outcome of attempts of the sidecar, and of those in the jail; default those of walls that hold */
  readonly beside?: string;
  readonly jailed?: string;
};

/** Has a gate prove a Pod, and returns its result with the orders that it gave. */
function prove({
  server = "https://192.0.2.7:6443",
  accepted = [],
  beside = "timeout",
  isReached = false,
  jailed = "denied",
  listening = "",
  pod,
}: Given = {}) {
  const orders: ProcessOrder[] = [];
  const options = { accepted, ports: [8080], pauseMs: 0, reach: async () => isReached };
  const gate = createGate({ server: new URL(server) }, options);
  const say = (words: readonly string[], outcome: string): string =>
    words.map((word) => `${word} ${word === OWN ? "connected" : outcome}\n`).join("");
  const probed: (readonly string[])[] = [];
  const probe = async (words: readonly string[]) => (probed.push(words), say(words, beside));
  const run = async (order: ProcessOrder): Promise<string> => {
    orders.push(order);
    const [, verb, ...words] = order.argv;
    if (verb === "scan") return `${listening}scanned ${words[1]} ${words[2]}\n`;
    return say(words.slice(1), jailed);
  };
  return { gate, orders, probe, probed, run, result: gate.prove({ ...POD, ...pod }, { probe, run }) };
}

describe("the gate", () => {
  it("lets a Pod pass whose walls were seen to hold, each alone, with attempts like an agent's", async () => {
    const { orders, probed, result } = prove();

    expect(await result).toEqual([]);
    const [first] = orders;
    expect(first?.argv.slice(3)).toEqual(probed[0]);
    expect(first?.argv).toEqual([
      "/budgie/hold",
      "probe",
      "wait:100",
      OWN,
      "tcp:10.1.0.2:10250",
      "tcp:10.1.0.2:6443",
      "tcp:192.0.2.7:6443",
      "tcp:10.96.0.1:443",
      "tcp:10.96.0.10:53",
      "udp:10.96.0.10:53",
      "tcp:169.254.169.254:80",
      "tcp:[fd00:ec2::254]:80",
      "tcp:1.1.1.1:443",
    ]);
    expect(first).toMatchObject({ ports: [3128, 8080], unset: ["*"], directory: "/home/agent" });
    expect(orders).toHaveLength(3);
    expect(orders.at(-1)).toMatchObject({
      argv: ["/budgie/hold", "scan", "10.1.0.2", "1", "65535"],
      ports: [3128, 8080],
    });
  });

  it("refuses a Pod whose node listens at a port that the jail leaves open, unless that is accepted by name", async () => {
    const listening = "40123 open\n50000 open\n";

    await expect(prove({ listening }).result).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringMatching(/its own node listens: 40123, 50000\. .* own-node\.$/),
    });
    await expect(prove({ listening, accepted: ["policy", "jail"] }).result).rejects.toThrow();
    expect(await prove({ listening, accepted: ["own-node"] }).result).toMatchObject([{ wall: "own-node" }]);
  });

  it.each([
    [0, "no Landlock"],
    [3, "Landlock's ABI 3"],
  ])("says that a kernel with ABI %i cannot hold the jail, before it tries", async (landlock, words) => {
    const pod = { kernel: { ...POD.kernel, landlock } };

    const { orders, result } = prove({ pod });
    await expect(result).rejects.toThrow(`the kernel of its node has ${words}, and the jail needs ABI 4`);
    expect(orders).toEqual([]);
    // Without it the node's own ports are as open as the network is.
    const accepted = ["jail"] as const;
    await expect(prove({ pod, accepted, jailed: "refused", beside: "refused" }).result).rejects.toThrow(
      "network policy",
    );
    expect(await prove({ pod, accepted, jailed: "timeout" }).result).toMatchObject([
      { wall: "jail", text: expect.stringContaining("Linux 6.7") },
    ]);
  });

  it("refuses a Pod of whose node nothing is known", async () => {
    const pod = { nodeAddress: undefined };

    await expect(prove({ pod }).result).rejects.toThrow("whose address the cluster did not tell");
    const { orders, result } = prove({ pod, accepted: ["own-node"] });
    expect(await result).toMatchObject([{ wall: "own-node" }]);
    expect(orders.some(({ argv }) => argv[1] === "scan")).toBe(false);
  });

  it("knows a policy that refuses, by what budgie itself reaches", async () => {
    // Only of the API server does budgie know that it answers.
    await expect(prove({ beside: "refused", isReached: true }).result).rejects.toMatchObject({
      message: expect.not.stringContaining("from the API server (tcp:192.0.2.7:6443)"),
    });
    await expect(prove({ beside: "refused" }).result).rejects.toThrow("from the API server (tcp:192.0.2.7:6443)");
  });

  it("tries to reach the API server again for the next Pod, until it has", async () => {
    const answers = [false, true];
    const tried: unknown[] = [];
    const reach = async (place: unknown) => (tried.push(place), answers.shift() === true);
    const gate = createGate({ server: new URL("https://192.0.2.7:6443") }, { accepted: [], ports: [], reach });
    const run = async (): Promise<string> => Promise.reject(new Error("over"));
    for (let pods = 0; pods < 3; pods += 1) await expect(gate.prove(POD, { run, probe: run })).rejects.toThrow("over");
    expect(tried).toHaveLength(2);
  });

  it("has the policy alone keep an agent from an API server at a port that the jail leaves open", async () => {
    const server = "https://192.0.2.7:45678";

    // The other targets say that there is no jail.
    await expect(prove({ server, jailed: "timeout" }).result).rejects.toMatchObject({
      message: expect.not.stringContaining("the jail did not keep a process from the API server (tcp:192.0.2.7:45678)"),
    });
    await expect(prove({ server, jailed: "connected" }).result).rejects.toThrow(
      "the jail did not keep a process from the API server",
    );
  });

  it("has the sidecar try from beside the agent's container as soon as it answers, and then in each further round", async () => {
    const { gate, probe, probed, run, result } = prove();
    await result;
    expect(probed).toHaveLength(2);
    const begun = gate.begin(POD, probe);
    await begun;
    expect(probed).toHaveLength(3);

    expect(await gate.prove(POD, { begun, probe, run })).toEqual([]);

    expect(probed).toHaveLength(4);
    const open = prove({ beside: "connected" });
    await expect(open.result).rejects.toThrow("the network policy did not keep a process from the API server");
    expect(open.probed).toHaveLength(25);
  });

  it("takes no port for an agent's that the Pod did not scan", async () => {
    await expect(prove({ listening: "1 open\nmore\n" }).result).rejects.toThrow("did not come to its end");
  });
});

describe("what no agent may reach", () => {
  it("has each address once, and knows which are the own node's", () => {
    const targets = listTargets({ api: [{ host: "10.1.0.2", port: 6443 }], service: undefined, node: "10.1.0.2" });

    expect(targets.filter(({ at }) => at === "tcp:10.1.0.2:6443")).toMatchObject([{ isOwnNode: true }]);
  });

  it("has the DNS of Services with addresses of IPv6", () => {
    const service = parseHostPort("fd00:1::1:443");
    const words = listTargets({ api: [], service, node: "fd00:2::5" }).map(({ at }) => at);

    expect(words).toEqual(
      expect.arrayContaining(["tcp:[fd00:1::1]:443", "udp:[fd00:1::a]:53", "tcp:[fd00:2::5]:10250"]),
    );
  });

  it("is no address of this machine alone, which in a Pod is the Pod's own", async () => {
    expect(await findAddresses(new URL("https://127.0.0.1:6443"))).toEqual([]);
    expect(await findAddresses(new URL("https://[::1]"))).toEqual([]);
    expect(await findAddresses(new URL("https://192.0.2.1"))).toEqual([{ host: "192.0.2.1", port: 443 }]);
    expect(await findAddresses(new URL("https://[2001:db8::1]:6443"))).toEqual([{ host: "2001:db8::1", port: 6443 }]);
  });

  it.each([null, 5, "", "10.0.0.1", "name:443", "10.0.0.1:0", "10.0.0.1:65536", "10.0.0.1:1 tcp:2.2.2.2:1"])(
    "is not %j of a Pod",
    (said) => {
      expect(parseHostPort(said)).toBeUndefined();
    },
  );
});

describe("the report of a scan", () => {
  it("has the open ports, or the first of too many", () => {
    expect(parseScanReport("5 open\n9 open\nscanned 1 10\n", [1, 10])).toEqual({ open: [5, 9], hasMore: false });
    expect(parseScanReport("5 open\nmore\n", [1, 10])).toEqual({ open: [5], hasMore: true });
  });

  it.each([
    "",
    "5 open\n",
    "scanned 1 9\n",
    "11 open\nscanned 1 10\n",
    "x open\nscanned 1 10\n",
    "5 shut\nscanned 1 10\n",
  ])("is not %j", (text) => {
    expect(() => parseScanReport(text, [1, 10])).toThrow("did not come to its end");
  });
});
