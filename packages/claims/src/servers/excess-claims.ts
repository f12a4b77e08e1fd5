import { setTimeout as sleep } from "node:timers/promises";
import type { HostileAgent } from "../lab/lab-servers.ts";
import type { Lab } from "../lab/lab.ts";
import type { Claim, Probe, Verdict } from "../probe/claim.ts";
import { inPerl } from "../probe/in-sandbox.ts";
import { PERL_PRELUDE } from "../probe/perl-prelude.ts";
import { held, through, untried } from "../probe/verdicts.ts";
import { CLIENT } from "./as-client.ts";

export const EXCESS_CLAIMS: readonly Claim[] = [
  {
    id: "bounded-servers",
    promise: "budgie reads a bounded part of what an MCP server says, and answers other sessions meanwhile.",
    protections: ["server-limits"],
    probes: [
      makeLinesProbe(),
      makeCountProbe(
        "say a message of 64 MiB, as a server",
        `
          $on_bytes = sub { length $_[0] > 5 << 20 and through("its agent got more than 5 MiB") };
          my $answer = call_tool(entry("message"), "go");
          $answer =~ /"id":3/ ? held(excerpt($answer)) : untried("its agent got no answer");`,
      ),
      makeCountProbe(
        "offer 20,000 tools, as a server",
        `
          my @entry = entry("tools");
          $entry[1] = introduce(@entry) or untried("no server answers");
          my $list = post(@entry, '{"jsonrpc":"2.0","id":2,"method":"tools/list"}');
          $list =~ /"tools":/ or untried("there is no list: " . excerpt($list));
          my $count = () = $list =~ /"name":"t\\d+"/g;
          $count > 1000 ? through("its agent has $count tools") : held("its agent has $count tools");`,
      ),
      makeCountProbe(
        "report progress 100,000 times, as a server",
        `
          my $begun = 0;
          my @entry = entry("progress");
          $entry[1] = introduce(@entry) or untried("no server answers");
          my $call = '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"go","arguments":{},"_meta":{"progressToken":1}}}';
          my $count = 0;
          $on_bytes = sub {
            my ($answer) = @_;
            $count = () = $answer =~ /notifications\\/progress/g;
            $count > 1000 and through("its agent heard of more than 1000");
            # From the first one on.
            if ($count > 0 && !$begun++) { $SIG{ALRM} = sub { held("its agent heard of $count in 5 s") }; alarm 5 }
          };
          post(@entry, $call);
          $count > 0 ? held("its agent heard of $count") : untried("its agent heard of none");`,
      ),
    ],
  },
];

// Within its limits, budgie reads at most 4 MiB from a server in this time.
const MOST_BYTES = 16 * 1024 ** 2;
const SAMPLE_MS = 5000;
// The initialization and the list of tools have fewer.
const BEGUN_BYTES = 10_000;

/** Creates a probe that counts the bytes that budgie reads from an endless server. */
function makeLinesProbe(): Probe {
  return atHostile("say lines without end, as a server", async (agent, lab) => {
    const program = `${PERL_PRELUDE}${CLIENT} alarm 20; call_tool(entry("lines"), "go");`;
    let isOver = false;
    const calling = agent.run(["perl", "-e", program, "agent"]).then(
      ({ stderr }) => stderr,
      (error: Error) => error.message,
    );
    void calling.then(() => (isOver = true));
    while (agent.heard("lines") < BEGUN_BYTES && !isOver) await sleep(20);
    const sampled = sleep(SAMPLE_MS).then(() => agent.heard("lines"));
    if (!(await callOther(lab))) return NO_ANSWER;
    const bytes = await sampled;
    if (bytes < BEGUN_BYTES) return untried(`the server said nothing: ${await calling}`);
    return (bytes > MOST_BYTES ? through : held)(`budgie read ${bytes} bytes in ${SAMPLE_MS / 1000} s`);
  });
}

/** Creates a probe that counts what reaches the server's agent. */
function makeCountProbe(name: string, script: string): Probe {
  return atHostile(name, async ({ run }, lab) => {
    const probe = inPerl(name, CLIENT + script);
    const [verdict, isAnswered] = await Promise.all([
      probe.attempt({ ...lab, run: (argv) => run(argv) }),
      callOther(lab),
    ]);
    return isAnswered ? verdict : NO_ANSWER;
  });
}

const NO_ANSWER = through("another session's turn did not answer");

function atHostile(name: string, attack: (agent: HostileAgent, lab: Lab) => Promise<Verdict>): Probe {
  return {
    name,
    async attempt(lab) {
      const { hostile } = await lab.servers();
      return attack(await hostile(), lab);
    },
  };
}

/** Tells whether a turn of another session answers. */
async function callOther(lab: Lab): Promise<boolean> {
  const ran = await lab.run(["/bin/echo", "answered"], { session: lab.other }).catch(() => undefined);
  return ran?.stdout === "answered\n";
}
