import { randomInt, randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Claim } from "../probe/claim.ts";
import { scriptMountSearch, scriptSearch } from "../session/secret-claims.ts";
import { scriptSocketSearch } from "../network/proxy-socket-claims.ts";
import { asClient } from "./as-client.ts";
import { asServer } from "./as-server.ts";

export const SERVER_PLACE_CLAIMS: readonly Claim[] = [
  {
    id: "server-files",
    promise: "A sandboxed MCP server reads no file of the host, its agent's workspace or home.",
    protections: ["mounts"],
    probes: [
      asServer("find a secret of its user in any file, as a server", async (_, { host }) => {
        return { script: scriptSearch(Object.values(host.canaries)) };
      }),
      asServer("read its agent's workspace, as a server", async (_, lab) => {
        const directory = await lab.makeDirectory();
        const secret = `canary-workspace-${randomUUID()}`;
        await writeFile(join(directory, "secret.txt"), secret);
        return { directory, script: scriptSearch([secret]) };
      }),
      asServer("read its agent's home, as a server", async () => {
        const secret = `canary-home-${randomUUID()}`;
        const before = `open(my $kept, ">", "$ENV{HOME}/${secret}"); print $kept "${secret}"; close $kept;`;
        return { before, script: scriptSearch([secret]) };
      }),
      asServer("have its agent's volume mounted, as a server", async ({ session }) => ({
        script: scriptMountSearch(session.id),
      })),
    ],
  },
  {
    id: "server-network",
    promise: "A sandboxed MCP server shares no network with its agent.",
    protections: ["own-network"],
    probes: [
      asServer("connect to its agent, as a server", async () => {
        const secret = `canary-agent-${randomUUID()}`;
        const port = randomInt(20_000, 30_000);
        return { before: scriptListener(port, secret), isPerl: true, script: scriptDial(port, secret) };
      }),
      asServer("use its agent's way out, as a server", async (_, { network: { greeting, webPort } }) => {
        const host = `allowed.test:${webPort}`;
        const request = `GET http://${host}/ HTTP/1.1\\r\\nHost: ${host}\\r\\n\\r\\n`;
        return { isPerl: true, script: scriptDial(3128, greeting, { request }) };
      }),
      asClient("connect to a port of its server", async () => {
        const secret = `canary-listener-${randomUUID()}`;
        const port = randomInt(20_000, 30_000);
        const words = Buffer.from(["perl", "-e", scriptListener(port, secret)].join("\0")).toString("hex");
        return `
          call_tool(entry("shell"), "run", '{"argv":"${words}"}') =~ /"text":"${LISTENING}"/ or untried("the server does not listen");
          ${scriptDial(port, secret)}`;
      }),
    ],
  },
  {
    id: "server-proxy",
    promise: "A sandboxed MCP server uses no proxy socket but its own, and changes nothing about that.",
    protections: ["mounts"],
    probes: [
      asServer("replace its proxy socket or its forwarder, as a server", async () => ({
        script: `cd /run/budgie || untried "it has none"
          [ -S s ] && [ -x forwarder ] || untried "it has none: $(ls -A)"
          for change in "rm s" "mv forwarder x" "touch new" "chmod 777 s" "cp /bin/sh forwarder"; do
            $change 2>/dev/null && through "$change"
          done
          held "it is read-only"`,
      })),
      asServer("use another session's proxy socket, as a server", async (_, lab) => {
        await lab.victim();
        return { isPerl: true, script: scriptSocketSearch(`${lab.root}/own/sockets/*/*/s`, lab.network) };
      }),
    ],
  },
  {
    id: "server-host",
    promise: "A sandboxed MCP server reaches no service of the host.",
    protections: ["own-network"],
    probes: [
      asServer("connect to a service on every address of this machine, as a server", async (_, { network }) => {
        const { addresses, canary, everywhere } = network;
        const own = addresses.flatMap(({ address, family }) => (family === 4 ? [address] : []));
        return { isPerl: true, script: scriptDial(everywhere.tcp, canary, { addresses: ["127.0.0.1", ...own] }) };
      }),
      asServer("connect to a service on this machine's loopback, as a server", async (_, { network }) => {
        return { isPerl: true, script: scriptDial(network.onLoopback.tcp, network.canary) };
      }),
    ],
  },
];

const LISTENING = Buffer.from("listening").toString("hex");

/** Returns a Perl script that listens on a port of the loopback, and sends a secret to whoever connects within 20 s. */
function scriptListener(port: number, secret: string): string {
  return `
    use Socket;
    socket(my $listener, PF_INET, SOCK_STREAM, 0) or die "$!";
    bind($listener, sockaddr_in(${port}, INADDR_ANY)) && listen($listener, 5) or die "$!";
    if (fork == 0) {
      close STDOUT; close STDERR;
      alarm 20;
      while (accept(my $client, $listener)) { syswrite($client, "${secret}"); close $client }
      exit;
    }
    close $listener;
    print "listening";`;
}

type DialOptions = { readonly request?: string; readonly addresses?: readonly string[] };

/** Returns a Perl script that connects to a port, by default of the loopback, and looks for an answer. */
function scriptDial(
  port: number,
  answer: string,
  { addresses = ["127.0.0.1"], request = "" }: DialOptions = {},
): string {
  return `
    use Socket;
    $SIG{ALRM} = sub { held("no answer within 10 s") };
    alarm 10;
    my $said = "";
    for my $address (${addresses.map((address) => `"${address}"`).join(", ")}) {
      socket(my $dialled, PF_INET, SOCK_STREAM, 0) or untried("$!");
      connect($dialled, sockaddr_in(${port}, inet_aton($address))) or $said .= " $!" and next;
      syswrite($dialled, "${request}");
      my $heard = "";
      1 while sysread($dialled, $heard, 65536, length $heard);
      through("$address answered") if index($heard, "${answer}") >= 0;
      $heard =~ s/\\s+/ /g;
      $said .= length $heard ? substr($heard, 0, 200) : " it hung up";
    }
    held($said);`;
}
