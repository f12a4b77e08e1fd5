import type { Claim, Probe } from "../probe/claim.ts";
import { asClient } from "./as-client.ts";

export const TOOL_CLAIMS: readonly Claim[] = [
  {
    id: "only-allowed-tools",
    promise: "An agent can call only MCP tools that configuration, its own file and the server's entry all allow.",
    protections: ["allowed-tools"],
    probes: [
      makeToolProbe("call a tool that the configuration leaves out", "unlisted"),
      makeToolProbe("call a tool that its own file leaves out", "unnamed"),
      makeToolProbe("call a tool that the server's entry disables", "disabled"),
      asClient("call a tool of a server that is not allowed", ({ evidence }) => {
        return `
          my ($path, $headers) = entry("shell");
          $path =~ s/shell$/hidden/;
          my $answer = call_tool($path, $headers, "open");
          through("it was called") if $answer =~ /${evidence}-open/;
          held(excerpt(post($path, $headers, $HELLO)));`;
      }),
    ],
  },
  {
    id: "own-servers",
    promise: "An agent reaches no MCP server of another session, and its own only at their addresses.",
    protections: ["own-endpoint"],
    probes: [
      asClient("call a tool of another session's server, whose address it knows", async (_, lab) => {
        const { victim } = await lab.servers();
        const { stdout } = await victim.run(["/bin/sh", "-c", 'cat "$HOME"/.kiro/agents/*.json']);
        const [, path = ""] = /"http:\/\/[^"/]+(\/mcp\/[\w-]+\/shell)"/.exec(stdout) ?? [];
        return `
          untried("the other agent has no address") unless "${path}";
          my $answer = call_tool("${path}", "", "open");
          $answer =~ /${victim.evidence}-open/ ? through("it was called") : held(excerpt(post("${path}", "", $HELLO)));`;
      }),
      asClient("reach a server without the secret of its address", ({ file }) => {
        const paths = [
          "/",
          "/mcp",
          "/mcp/shell",
          "/mcp//shell",
          `/mcp/${"A".repeat(32)}/shell`,
          "/mcp/*/shell",
          "/shell",
        ];
        return scriptReach('post($_, "", $HELLO)', [...paths, `/mcp${file}`]);
      }),
      asClient("reach a server by another method", () => {
        return scriptReach('post($path, "", $HELLO, $_)', ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]);
      }),
    ],
  },
];

function makeToolProbe(name: string, tool: string): Probe {
  return asClient(name, ({ evidence }) => {
    return `
      my @entry = entry("shell");
      call_tool(@entry, "open") =~ /${evidence}-open/ or untried("it can call no tool");
      my $answer = call_tool(@entry, "${tool}");
      $answer =~ /${evidence}-${tool}/ ? through("it was called") : held(excerpt($answer));`;
  });
}

/** Returns a script that tries to reach a server by `attempt`, with each of `values` as `$_`, after its right address has answered. */
function scriptReach(attempt: string, values: readonly string[]): string {
  return `
    my ($path) = entry("shell");
    post($path, "", $HELLO) =~ /"serverInfo"/ or untried("no server answers");
    my @answers = map { ${attempt} } ${values.map((value) => `'${value}'`).join(", ")};
    for (@answers) { through("it answered") if /"serverInfo"/ }
    held(excerpt($answers[-1]));`;
}
