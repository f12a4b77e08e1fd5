import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createSessionId } from "@budgie/core";
import type { Probe, Verdict } from "../probe/claim.ts";
import { OWN_NAME, SILENT_SUFFIX } from "../lab/lab-network.ts";
import { eventually } from "../lab/eventually.ts";
import type { Lab } from "../lab/lab.ts";

/** A probe in which two sessions look up names that never resolve; meanwhile a third, and then one of the two, need a lookup. */
export const SILENT_NAMES_PROBE: Probe = { name: "use up all DNS lookups of the proxy", attempt: lookUpSilentNames };

async function lookUpSilentNames(lab: Lab): Promise<Verdict> {
  const before = lab.network.unanswered();
  const session = await lab.runner.openSession(createSessionId());
  const another = await lab.runner.openSession(createSessionId());
  const directory = await lab.makeDirectory();
  const ask = ["perl", "-e", scriptQuestions(lab)] as const;
  const asking = Promise.all([lab.run(ask, { session, directory }), lab.run(ask, { session: another, directory })]);
  const isFull = (): boolean => lab.network.unanswered() - before >= 2;
  try {
    await Promise.race([eventually(isFull), asking]);
    if (!isFull()) return { outcome: "untried", detail: "the names were never looked up" };
    const others = await askForName(lab, {});
    await writeFile(join(directory, "enough"), "");
    await asking;
    const next = await askForName(lab, { session });
    const failed = [others ? [] : ["another session"], next ? [] : ["the next turn"]].flat();
    return failed.length === 0
      ? { outcome: "held", detail: `others were served beside ${lab.network.unanswered() - before} unanswered lookups` }
      : { outcome: "got-through", detail: `blocked: ${failed.join(" and ")}` };
  } finally {
    await writeFile(join(directory, "enough"), "");
    await Promise.allSettled([asking]);
    await Promise.all([session.remove(), another.remove()]);
  }
}

function scriptQuestions({ network: { webPort } }: Lab): string {
  return `use Socket;
    my @kept;
    for (1 .. 8) {
      my $name = "$_-$$-" . int(rand(1e9)) . "${SILENT_SUFFIX}:${webPort}";
      socket(my $socket, PF_INET, SOCK_STREAM, 0) or last;
      connect($socket, pack_sockaddr_in(3128, inet_aton("127.0.0.1"))) or last;
      syswrite($socket, "CONNECT $name HTTP/1.1\\r\\nHost: $name\\r\\n\\r\\n");
      push @kept, $socket;
    }
    for (1 .. 300) { last if -e "/workspace/enough"; select(undef, undef, undef, 0.1) }`;
}

/** Tells whether the proxy resolves a name much faster than its timeout for unanswered lookups. */
async function askForName(lab: Lab, options: { readonly session?: Lab["session"] }): Promise<boolean> {
  const host = `${OWN_NAME}:${lab.network.webPort}`;
  const script = `use Socket; alarm 8;
    socket(my $socket, PF_INET, SOCK_STREAM, 0);
    connect($socket, pack_sockaddr_in(3128, inet_aton("127.0.0.1"))) or die "$!";
    syswrite($socket, "GET http://${host}/ HTTP/1.1\\r\\nHost: ${host}\\r\\n\\r\\n");
    print <$socket>;`;
  const { stdout } = await lab.run(["perl", "-e", script], options);
  return stdout.includes("no public address");
}
