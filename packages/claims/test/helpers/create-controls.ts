import type { EgressProxy } from "@budgie/egress";
import { dirname, join } from "node:path";
import type { RunnerCluster } from "../../../runner-kubernetes/test/runner-cluster.ts";
import { createLab, type Lab } from "../../src/lab/lab.ts";
import { listHostAddresses, type LabNetwork } from "../../src/lab/lab-network.ts";
import { PLAYED_ADDRESSES } from "../../src/network/network-claims.ts";
import { createForgetfulProxy } from "../network/forgetful-proxy.ts";
import { PLAY } from "../network/network-player.ts";
import { createUnwatchedProxy } from "../network/unwatched-proxy.ts";
import type { ControlPlace } from "./on-cluster.ts";
import { ENDED, listVariables, startPlainPod, type PlainPod } from "./plain-pod.ts";

/** The labs of controls, by their places. Their Pods start when they are asked for, and end with the given lab's cluster. */
export type Controls = Readonly<Record<ControlPlace, () => Promise<Partial<Lab>>>>;

type Parts = { readonly cluster: RunnerCluster; readonly lab: Lab; readonly open: (name: string) => Promise<PlainPod> };

/** Returns a function that starts a plain Pod of a name, once. */
export function createPlainPods({ options, server }: RunnerCluster, { environmentSecret, root }: Lab): Parts["open"] {
  const pods = new Map<string, Promise<PlainPod>>();
  const shape = {
    image: options.image,
    folder: root,
    socket: join(dirname(server.kubeconfig), "run/containerd.sock"),
    env: { BUDGIE_LAB: environmentSecret, LEFT_BEHIND: "x" },
  };
  return (name) => {
    const pod = pods.get(name) ?? startPlainPod(server, { ...shape, name });
    pods.set(name, pod);
    return pod;
  };
}

/** Creates the places in which attacks succeed. */
export function createControls(parts: Parts): Controls {
  const { lab, open } = parts;
  const victim = once(async () => (await open("plain")).startVictim(lab));
  const behind = (startProxy: (network: LabNetwork) => Promise<EgressProxy>) =>
    once(async () => {
      const made = await createLab({ target: lab.target }, { startProxy });
      lab.keep(made);
      return made;
    });
  return {
    plain: async () => ({ ...(await open("plain")).toCareless(lab), victim }),
    node: async () => (await open("node")).toCareless(lab),
    played: once(() => play(parts)),
    followed: () => followLinks(parts),
    "one-folder": () => runInOneFolder(parts),
    "other-pod": () => runInOtherPod(parts),
    unwatched: behind(async (network) => createUnwatchedProxy(network)),
    forgetful: behind(async (network) => createForgetfulProxy(network)),
  };
}

/** Returns a function that makes something when it is called first. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

/** Listens on an abstract socket of the node. */
export async function listenOnNode(open: Parts["open"], name: string): Promise<AsyncDisposable> {
  await (await open("node")).leave(["perl", "-e", LISTEN, name]);
  // It ends by itself.
  return { [Symbol.asyncDispose]: async () => undefined };
}

const LISTEN = `use Socket; $| = 1; socket(my $socket, PF_UNIX, SOCK_STREAM, 0);
  bind($socket, pack_sockaddr_un("\\0$ARGV[0]")) && listen($socket, 9) or die "$!"; print "ready\\n"; sleep 60`;

async function play({ lab, open }: Parts): Promise<Pick<Lab, "run">> {
  const pod = await open("played");
  const canary = `canary-played-${lab.network.canary}`;
  const own = listHostAddresses().map(({ address }) => address);
  // Engines let everybody ping, and clusters need not.
  await pod.execute(["sh", "-c", "echo 0 0 >/proc/sys/net/ipv4/ping_group_range"]);
  const said = await pod.leave(["perl", "-e", PLAY, canary, ...new Set([...PLAYED_ADDRESSES, ...own])]);
  if (said.trim() !== "ready") throw new Error(`The network's player did not start: ${said}`);
  const { run } = pod.toCareless(lab);
  return { run: (argv, given) => run(argv, { ...given, env: { BUDGIE_PLAYED: canary } }) };
}

/** Runs attacks in a plain Pod, in which a login is written by its path before a turn that asks for one. */
async function followLinks({ lab, open }: Parts): Promise<Pick<Lab, "open" | "run">> {
  const pod = await open("plain");
  const careless = pod.toCareless(lab);
  const write = 'echo "a renewed login" >"$HOME/.local/share/kiro-cli/data.sqlite3"';
  return {
    async open(options) {
      const session = await careless.open(options);
      await pod.execute(["sh", "-c", 'mkdir -p "$HOME/.local/share/kiro-cli"']);
      return session;
    },
    run: (argv, given) => careless.run(argv[0] === "/bin/true" ? ["/bin/sh", "-c", write] : argv, given),
  };
}

/** Runs attacks with the home of the host as their own, which their workspace is in. */
async function runInOneFolder({ lab, open }: Parts): Promise<Pick<Lab, "run">> {
  const { execute } = await open("plain");
  const script = 'cd "$1" && shift && exec env "$@"';
  return {
    run: async (argv, { directory = lab.workspace } = {}) => ({
      stdout: await execute(["sh", "-c", script, "sh", directory, `HOME=${lab.host.path}`, ...argv]),
      stderr: "",
      exit: await ENDED,
    }),
  };
}

/** Runs attacks in the container of the lab's other session, without its jail. */
async function runInOtherPod({ cluster: { namespace, server }, lab }: Parts): Promise<Pick<Lab, "run">> {
  return {
    async run(argv, { env = {} } = {}) {
      const found = ["get", "pods", "-l", `dev.budgie.session=${lab.other.id}`, "-o", "name"];
      const { stdout: pod } = await server.kubectl(["-n", namespace, ...found]);
      const exec = ["exec", pod.trim(), "-c", "agent", "--", "env", ...listVariables(env), ...argv];
      const { stdout } = await server.kubectl(["-n", namespace, ...exec]);
      return { stdout, stderr: "", exit: await ENDED };
    },
  };
}
