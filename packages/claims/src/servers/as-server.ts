import type { Command } from "@budgie/core";
import type { Ran } from "../lab/collect.ts";
import type { ServedAgent } from "../lab/lab-servers.ts";
import type { Lab } from "../lab/lab.ts";
import type { Probe } from "../probe/claim.ts";
import { inPerl, inSandbox } from "../probe/in-sandbox.ts";
import { PERL_PRELUDE } from "../probe/perl-prelude.ts";
import { CLIENT } from "./as-client.ts";

/** An attack that a server makes while its agent waits for it. */
export type ServerAttack = {
  /** The workspace of the agent; default the lab's */
  readonly directory?: string;
  /** A Perl script that the agent runs before it calls the server */
  readonly before?: string;
  /** A script, in Perl if `isPerl`, that the server runs */
  readonly script: string;
  readonly isPerl?: boolean;
};

/** Creates a probe that runs a script like an MCP server in a sandbox while its agent calls it. */
export function asServer(name: string, toAttack: (agent: ServedAgent, lab: Lab) => Promise<ServerAttack>): Probe {
  return {
    name,
    async attempt(lab) {
      const { attacker } = await lab.servers();
      const { before = "", directory, isPerl = false, script } = await toAttack(attacker, lab);
      const run = async (argv: Command["argv"]): Promise<Ran> => {
        const words = Buffer.from(argv.join("\0")).toString("hex");
        const call = `${before} print call_tool(entry("shell"), "run", '{"argv":"${words}"}');`;
        const ran = await attacker.run(["perl", "-e", PERL_PRELUDE + CLIENT + call, "agent"], { directory });
        const [, said = ""] = /"text":"([0-9a-f]*)"/.exec(ran.stdout) ?? [];
        return {
          ...ran,
          stdout: Buffer.from(said, "hex").toString("utf8"),
          stderr: ran.stderr + ran.stdout.slice(-200),
        };
      };
      return (isPerl ? inPerl : inSandbox)(name, script).attempt({ ...lab, run });
    },
  };
}
