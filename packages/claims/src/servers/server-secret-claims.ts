import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Claim, Probe, Verdict } from "../probe/claim.ts";
import { eventually } from "../lab/eventually.ts";
import type { ServedAgent } from "../lab/lab-servers.ts";
import { requireEngine, type ShownContainer } from "../lab/target.ts";
import { PERL_PRELUDE } from "../probe/perl-prelude.ts";
import { held, through, untried } from "../probe/verdicts.ts";
import { scriptSearch } from "../session/secret-claims.ts";
import { asAgent, asClient, CLIENT } from "./as-client.ts";

export const SERVER_SECRET_CLAIMS: readonly Claim[] = [
  {
    id: "no-server-secrets",
    promise: "An agent finds no secret of its MCP servers: no variable, header or token.",
    protections: ["server-entries"],
    probes: [
      asAgent("read one in any process's environment", ({ secrets }) => scriptEnvironmentSearch(secrets)),
      asAgent("find one in any file", ({ secrets }) => scriptSearch(secrets)),
      asAgent("read one in its own file", ({ secrets }) => {
        return `file=$(cat "$HOME"/.kiro/agents/*.json)
          [ "$file" ] || untried "there is no file"
          case $file in ${secrets.map((secret) => `*${secret}*`).join("|")}) through "it is there" ;; esac
          held "it is not there"`;
      }),
      asClient("find one in what it says to a server and hears", ({ evidence, secrets }) => {
        return `
          my $answers = join "", map { call_tool(entry($_), "open") } "far", "login";
          for my $secret (${secrets.map((secret) => `"${secret}"`).join(", ")}) {
            through("it is there") if index($traffic, $secret) >= 0;
          }
          # Servers that answer got their secrets.
          my $count = () = $answers =~ /${evidence}-open/g;
          $count == 2 ? held("it is not there") : untried("$count of 2 servers answered: " . excerpt($answers));`;
      }),
      makeEngineProbe(),
    ],
  },
];

function scriptEnvironmentSearch(secrets: readonly string[]): string {
  return `
    [ "$(cat /proc/[0-9]*/environ 2>/dev/null | wc -c)" -gt 0 ] || untried "no environment could be read"
    for secret in ${secrets.join(" ")}; do
      if cat /proc/[0-9]*/environ 2>/dev/null | grep -aqF "$secret"; then through "it is there"; fi
    done
    held "it is not there"`;
}

/** Creates a probe that inspects the containers of a running agent, and of a server that it called. */
function makeEngineProbe(): Probe {
  return {
    name: "read one in what the engine shows of its container, and of its servers'",
    async attempt(lab) {
      const { inspect } = requireEngine(lab.target);
      const { attacker } = await lab.servers();
      const directory = await lab.makeDirectory();
      const call = `${PERL_PRELUDE}${CLIENT} call_tool(entry("shell"), "open");`;
      const running = attacker.run(["/bin/sh", "-c", WAIT, "agent", call], { directory });
      try {
        await Promise.race([eventually(() => existsSync(join(directory, "begun"))), running]);
        return judgeContainers(await inspect(lab.root), attacker);
      } finally {
        await writeFile(join(directory, "over"), "");
        await running;
      }
    },
  };
}

const WAIT = 'perl -e "$1" agent; : >begun; while [ ! -e over ]; do sleep 0.1; done';

function judgeContainers(all: readonly ShownContainer[], { secrets, serverSessions, session }: ServedAgent): Verdict {
  if (all.some(({ text }) => secrets.some((secret) => text.includes(secret)))) return through("it is there");
  const shown = new Set(all.map((container) => container.session));
  const isShown = serverSessions.size > 0 && [session.id, ...serverSessions].every((id) => shown.has(id));
  return isShown ? held("it is not there") : untried("the engine does not show the agent's container and its server's");
}
