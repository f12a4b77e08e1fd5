import { describe, expect, it } from "vitest";
import type { Target, Wall } from "../../src/proof/judge-walls.ts";
import type { Outcome, ProbeReport } from "../../src/proof/probe-report.ts";
import { proveWalls, type ProbedFrom } from "../../src/proof/prove-walls.ts";

const OWN = "tcp:127.0.0.1:3128";
const API: Target = { at: "tcp:10.0.0.1:443", name: "the API server" };
const NODE: Target = { at: "tcp:10.1.0.2:10250", name: "the node's kubelet", isOwnNode: true };
const DNS: Target = { at: "udp:10.0.0.10:53", name: "the cluster's DNS" };

/** The outcomes of a round */
type Round = Readonly<Record<ProbedFrom, Outcome>>;

const BOTH: Round = { jailed: "denied", beside: "timeout" };

/** Creates a Pod whose attempts at all targets come to this, each round the next and then the last again. */
function createPod(rounds: readonly Round[], own: Outcome = "connected") {
  let asked = 0;
  return {
    rounds: () => asked / 2,
    async probe(targets: readonly string[], from: ProbedFrom): Promise<string> {
      const round = rounds[Math.min(Math.floor(asked++ / 2), rounds.length - 1)] ?? BOTH;
      return targets.map((at) => `${at} ${at === OWN ? own : round[from]}\n`).join("");
    },
  };
}

type Given = {
  readonly targets?: readonly Target[];
  readonly control?: ProbeReport;
  readonly accepted?: readonly Wall[];
};

function prove(
  { probe }: Pick<ReturnType<typeof createPod>, "probe">,
  { accepted = [], control, targets = [API] }: Given = {},
) {
  return proveWalls({ accepted, control, pauseMs: 0, probe, targets });
}

describe("the walls of a Pod", () => {
  it("are proven by two rounds after each other, since a network that is not there yet stops all attempts", async () => {
    const pod = createPod([BOTH]);

    expect(await prove(pod)).toEqual([]);
    expect(pod.rounds()).toBe(2);
  });

  it("are proven by one round in which the sidecar reached the own node, so that the network was there", async () => {
    const targets = [NODE];
    const answered = createPod([{ ...BOTH, beside: "connected" }]);
    expect(await prove(answered, { targets })).toEqual([]);
    expect(answered.rounds()).toBe(1);

    const late = createPod([BOTH]);
    expect(await prove(late, { targets })).toEqual([]);
    expect(late.rounds()).toBe(2);
  });

  it("are proven once a policy that came late has held twice", async () => {
    const open: Round = { jailed: "denied", beside: "connected" };
    const pod = createPod([open, BOTH, open, BOTH]);

    expect(await prove(pod)).toEqual([]);
    expect(pod.rounds()).toBe(5);
  });

  it.each<[Wall, Round]>([
    ["policy", { jailed: "denied", beside: "connected" }],
    ["policy", { jailed: "denied", beside: "refused" }],
    // No policy denies a process its own call, so this is another protection, of which nothing is known.
    ["policy", { jailed: "denied", beside: "denied" }],
    ["jail", { jailed: "connected", beside: "timeout" }],
    ["jail", { jailed: "refused", beside: "timeout" }],
    ["jail", { jailed: "timeout", beside: "timeout" }],
    ["jail", { jailed: "unreachable", beside: "timeout" }],
  ])("lack the %s with %j, which only a user who accepts that may do without", async (wall, round) => {
    const pod = createPod([round]);

    await expect(prove(pod)).rejects.toMatchObject({
      code: "RUNNER_UNAVAILABLE",
      message: expect.stringMatching(
        new RegExp(`API server \\(tcp:10\\.0\\.0\\.1:443\\).*accept it with .* ${wall}\\.$`),
      ),
    });
    expect((await prove(pod, { accepted: [wall] })).map((breach) => breach.wall)).toEqual([wall]);
    await expect(prove(pod, { accepted: [wall === "jail" ? "policy" : "jail"] })).rejects.toThrow();
  });

  it("cannot both be missing, whatever is accepted", async () => {
    const pod = createPod([{ jailed: "connected", beside: "connected" }]);

    await expect(prove(pod, { accepted: ["jail", "policy"] })).rejects.toMatchObject({
      message: expect.stringContaining("Nothing else confines an agent there"),
    });
  });

  it("hold where a policy refuses what it let a Pod connect to that it leaves alone", async () => {
    const pod = createPod([{ jailed: "denied", beside: "refused" }]);

    expect(await prove(pod, { control: new Map([[API.at, "connected"]]) })).toEqual([]);
    await expect(prove(pod, { control: new Map([[API.at, "refused"]]) })).rejects.toThrow();
  });

  it("need not keep a process without the jail from its own node, nor a datagram from being sent", async () => {
    const targets = [NODE, DNS];

    expect(await prove(createPod([{ jailed: "denied", beside: "connected" }]), { targets })).toEqual([]);
    await expect(prove(createPod([{ jailed: "connected", beside: "timeout" }]), { targets })).rejects.toThrow(
      /kubelet.*DNS/,
    );
  });

  it("keep nothing of its own node in reach, or lack that by name", async () => {
    const targets = [NODE];
    const open: Round = { jailed: "connected", beside: "connected" };

    await expect(prove(createPod([open]), { targets, accepted: ["jail"] })).rejects.toThrow(/own-node\.$/);
    await expect(prove(createPod([open]), { targets, accepted: ["own-node"] })).rejects.toThrow(/jail/);
    const lacking = await prove(createPod([open]), { targets, accepted: ["jail", "own-node"] });
    expect(lacking.map(({ wall }) => wall)).toEqual(["jail", "own-node"]);
    // A policy that covers the node too is enough.
    const stopped: Round = { jailed: "timeout", beside: "timeout" };
    expect(await prove(createPod([stopped]), { targets, accepted: ["jail"] })).toMatchObject([{ wall: "jail" }]);
  });

  it("need not keep a process without the jail from what leads to its own node", async () => {
    const service: Target = { at: "tcp:10.96.0.1:443", name: "the Service", leadsTo: NODE.at };
    const open: Round = { jailed: "denied", beside: "connected" };

    expect(await prove(createPod([open]), { targets: [NODE, service] })).toEqual([]);
    await expect(prove(createPod([open]), { targets: [service] })).rejects.toThrow(/Service.*accept.* policy\.$/);
  });

  it("are missing after two rounds without a jail, which does not come late as a policy may", async () => {
    const unjailed = createPod([{ jailed: "connected", beside: "timeout" }]);
    await expect(prove(unjailed)).rejects.toThrow();
    expect(unjailed.rounds()).toBe(2);
    const unguarded = createPod([{ jailed: "denied", beside: "connected" }]);
    await expect(prove(unguarded)).rejects.toThrow();
    expect(unguarded.rounds()).toBe(25);
  });

  it("hold against an address of IPv6 where the kernel has none", async () => {
    const targets: readonly Target[] = [{ at: "tcp:[fd00::1]:80", name: "a service" }];

    expect(await prove(createPod([{ jailed: "unreachable", beside: "unreachable" }]), { targets })).toEqual([]);
    await expect(prove(createPod([{ jailed: "unreachable", beside: "timeout" }]), { targets })).rejects.toThrow("jail");
  });

  it("are not proven to the end once the turn is cancelled", async () => {
    const pod = createPod([{ jailed: "denied", beside: "connected" }]);
    const cancel = new AbortController();
    const probe: typeof pod.probe = async (...asked) => {
      if (pod.rounds() === 2) cancel.abort();
      return pod.probe(...asked);
    };

    const proving = proveWalls({ accepted: [], pauseMs: 0, probe, targets: [API], signal: cancel.signal });
    await expect(proving).rejects.toMatchObject({ code: "CANCELLED" });
    // Nothing was started in the agent's container any more.
    expect(pod.rounds()).toBe(2.5);
  });

  it("are not proven by a probe that cannot reach its own sidecar", async () => {
    await expect(prove(createPod([BOTH], "denied"))).rejects.toThrow("its other attempts show nothing");
  });

  it.each([
    ["nothing", () => ""],
    ["one target less", (all: string) => all.split("\n").slice(1).join("\n")],
    ["one target twice", (all: string) => `${all}${API.at} denied\n`],
    ["a target that nobody asked for", (all: string) => all.replace(API.at, "tcp:1.2.3.4:5")],
    ["another word", (all: string) => all.replaceAll("denied", "blocked")],
    ["more than a line can have", (all: string) => `${all}${"\n".repeat(10_000)}`],
  ])("are not proven by a probe that prints %s", async (_what, change) => {
    const pod = createPod([BOTH]);
    const lying = { probe: async (...asked: Parameters<typeof pod.probe>) => change(await pod.probe(...asked)) };

    await expect(prove(lying)).rejects.toThrow("did not report on each of its targets");
  });
});
