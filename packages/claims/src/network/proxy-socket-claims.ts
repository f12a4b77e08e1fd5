import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createSessionId } from "@budgie/core";
import type { Claim, Verdict } from "../probe/claim.ts";
import { makeProxyProbe, plain, tunnel } from "./make-proxy-probe.ts";
import { eventually } from "../lab/eventually.ts";
import { inPerl, inSandbox } from "../probe/in-sandbox.ts";
import type { Ran } from "../lab/collect.ts";
import type { Lab } from "../lab/lab.ts";
import type { LabNetwork } from "../lab/lab-network.ts";
import { SILENT_NAMES_PROBE } from "./silent-names-probe.ts";

export const PROXY_SOCKET_CLAIMS: readonly Claim[] = [
  {
    id: "own-proxy-socket",
    promise: "An agent cannot find the proxy socket of any session, including its own.",
    protections: ["mounts"],
    probes: [
      inSandbox(
        "find its own proxy socket",
        '[ -e /run/budgie ] && through "/run/budgie is there"; held "it is not there"',
      ),
      inPerl("use another session's by its path on the host", async (lab) => {
        await lab.victim();
        return scriptSocketSearch(`${lab.root}/own/sockets/*/*/s`, lab.network);
      }),
      inSandbox("read budgie's state", ({ root }) => {
        return `said=$(ls "${root}/own/sockets" 2>&1) && through "$said"; held "$said"`;
      }),
    ],
  },
  {
    id: "own-way-out",
    promise: "An agent shares no network with another session.",
    protections: ["own-network"],
    probes: [
      makeProxyProbe({
        name: "use another session's proxy",
        async toAttacks(port, lab) {
          await lab.victim();
          return [tunnel(`other.test:${port}`), plain(`other.test:${port}`)];
        },
      }),
    ],
  },
  {
    id: "bounded-connections",
    promise:
      "An agent's connections (10,000 and more) and DNS lookups block neither its session's next turn nor other sessions from the proxy.",
    protections: ["egress-proxy"],
    probes: [{ name: "use up all connections of the proxy", attempt: flood }, SILENT_NAMES_PROBE],
  },
];

/** Returns a Perl script that asks every proxy socket of a pattern for the other session's host. */
export function scriptSocketSearch(
  pattern: string,
  { canary, webPort }: Pick<LabNetwork, "canary" | "webPort">,
): string {
  return `use Socket;
    my @sockets = glob "${pattern}";
    for my $path (@sockets) {
      socket(my $socket, PF_UNIX, SOCK_STREAM, 0) or untried("$!");
      connect($socket, pack_sockaddr_un($path)) or next;
      alarm 10;
      syswrite($socket, "GET http://other.test:${webPort}/ HTTP/1.1\\r\\nHost: other.test:${webPort}\\r\\n\\r\\n");
      my $heard = join "", <$socket>;
      through($path) if index($heard, "${canary}") >= 0;
    }
    held(@sockets ? "none accepts connections" : "there is none");`;
}

// A busy machine takes more than half a minute to open all connections.
const FLOOD_LIMIT_MS = 90_000;

/** Has one session open as many connections as it can; meanwhile another session, and then its own next turn, use the proxy. */
async function flood(lab: Lab): Promise<Verdict> {
  const session = await lab.runner.openSession(createSessionId());
  const directory = await lab.makeDirectory();
  const flooding = lab.run(["perl", "-e", scriptFlood(lab)], { session, directory, limitMs: FLOOD_LIMIT_MS });
  try {
    await Promise.race([eventually(() => existsSync(join(directory, "full")), FLOOD_LIMIT_MS), flooding]);
    const others = await askAllowed(lab, {});
    await writeFile(join(directory, "enough"), "");
    const { stdout } = await flooding;
    const next = await askAllowed(lab, { session });
    if (!stdout.startsWith("10000 ")) return { outcome: "untried", detail: `it ended early: ${stdout.slice(0, 200)}` };
    const failed = [
      others.includes(lab.network.greeting) ? [] : ["another session"],
      next.includes(lab.network.greeting) ? [] : ["the next turn"],
    ];
    const who = failed.flat();
    const detail =
      who.length === 0 ? `the proxy served others beside ${stdout.trim()}` : `blocked: ${who.join(" and ")}`;
    return { outcome: who.length === 0 ? "held" : "got-through", detail };
  } finally {
    await writeFile(join(directory, "enough"), "");
    await session.remove();
  }
}

/** Returns a script that drops most of its connections at once, some in the middle of a request, and keeps the last. */
function scriptFlood({ network: { webPort } }: Lab): string {
  const host = `allowed.test:${webPort}`;
  return `use Socket;
    # A connection may be reset before its first byte.
    $SIG{PIPE} = "IGNORE";
    my ($made, @kept) = (0);
    while ($made < 10000) {
      socket(my $socket, PF_INET, SOCK_STREAM, 0) or last;
      connect($socket, pack_sockaddr_in(3128, inet_aton("127.0.0.1"))) or last;
      syswrite($socket, $made % 2 ? "CONNECT ${host} HTTP/1.1\\r\\n\\r\\n" : "GET http");
      push @kept, $socket if $made++ >= 9400;
    }
    print "$made connections, ", scalar @kept, "\\n";
    open(my $full, ">", "/workspace/full");
    select(undef, undef, undef, 0.1) until -e "/workspace/enough";`;
}

async function askAllowed(lab: Lab, options: { readonly session?: Lab["session"] }): Promise<string> {
  const host = `allowed.test:${lab.network.webPort}`;
  const script = `use Socket; alarm 30;
    socket(my $socket, PF_INET, SOCK_STREAM, 0);
    connect($socket, pack_sockaddr_in(3128, inet_aton("127.0.0.1"))) or die "$!";
    syswrite($socket, "GET http://${host}/ HTTP/1.1\\r\\nHost: ${host}\\r\\n\\r\\n");
    print <$socket>;`;
  const { stdout }: Ran = await lab.run(["perl", "-e", script], options);
  return stdout;
}
