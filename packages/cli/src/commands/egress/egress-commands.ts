import type { Command } from "commander";

type EgressActions = {
  readonly explain: (agent: string | undefined, options: { readonly json: boolean }) => Promise<void>;
  readonly suggest: (options: {
    readonly last: string;
    readonly agent?: string;
    readonly json: boolean;
  }) => Promise<void>;
};

/** Adds `budgie egress ls`, `budgie egress explain` and `budgie egress suggest`. */
export function addEgressCommands(program: Command, { explain, suggest }: EgressActions): void {
  const egress = program
    .command("egress")
    .summary("what sandboxes may reach, and what they asked for")
    .description("what sandboxes may reach of the network, and what they asked for");
  egress
    .command("ls", { isDefault: true })
    .description("print what each agent may reach, and where that was said")
    .option("--json", "print JSON")
    .action(({ json = false }: { json?: boolean }) => explain(undefined, { json }));
  egress
    .command("explain")
    .argument("<agent>")
    .description("print what an agent may reach, and where that was said")
    .option("--json", "print JSON")
    .action((agent: string, { json = false }: { json?: boolean }) => explain(agent, { json }));
  egress
    .command("suggest")
    .description("print the smallest list of hosts that the last turns would have needed")
    .option("--last <number>", "how many turns to look at", "20")
    .option("--agent <name>", "of this agent alone")
    .option("--json", "print JSON")
    .action(({ json = false, ...options }: { last: string; agent?: string; json?: boolean }) =>
      suggest({ ...options, json }),
    );
}
