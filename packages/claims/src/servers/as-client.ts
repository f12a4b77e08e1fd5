import type { Probe } from "../probe/claim.ts";
import { inPerl, inSandbox } from "../probe/in-sandbox.ts";
import type { ServedAgent } from "../lab/lab-servers.ts";
import type { Lab } from "../lab/lab.ts";

/** Creates a probe that runs a script like an agent that has MCP servers. */
export function asAgent(name: string, script: (agent: ServedAgent, lab: Lab) => string | Promise<string>): Probe {
  return makeProbe(name, script, inSandbox);
}

/** Creates the same from a Perl script, which has the functions of an MCP client. */
export function asClient(name: string, script: (agent: ServedAgent, lab: Lab) => string | Promise<string>): Probe {
  return makeProbe(name, async (agent, lab) => CLIENT + (await script(agent, lab)), inPerl);
}

function makeProbe(
  name: string,
  script: (agent: ServedAgent, lab: Lab) => string | Promise<string>,
  create: typeof inPerl,
): Probe {
  return {
    name,
    async attempt(lab) {
      const { attacker } = await lab.servers();
      const probe = create(name, () => script(attacker, lab));
      return probe.attempt({ ...lab, run: (argv, { directory } = {}) => attacker.run(argv, { directory }) });
    },
  };
}

/**
 * The functions of an MCP client in Perl, which follow the start of every Perl probe. `entry` returns the address and the headers of a
 * server in the agent's own file, `post` sends it a message, `introduce` begins a session and returns the headers of its messages, and
 * `call_tool` calls a tool. `$traffic` collects the bytes of both directions; `$on_bytes` is called with the answer so far.
 */
export const CLIENT = String.raw`
use Socket;
$SIG{ALRM} = sub { untried("no answer within 60 s") };
$SIG{PIPE} = "IGNORE";
alarm 60;
my $traffic = "";
my $on_bytes = sub {};
my $file = "";
for my $path (glob "$ENV{HOME}/.kiro/agents/*.json") {
  open(my $opened, "<", $path) or next;
  $file .= join "", <$opened>;
}
sub entry {
  my ($server) = @_;
  my ($fields) = $file =~ /"\Q$server\E": ?(\{(?:[^{}]|\{[^{}]*\})*\})/ or untried("the agent's file has no server $server");
  my ($path) = $fields =~ m{"url": ?"http://[^"/]+(/[^"]*)"};
  my ($headers) = $fields =~ /"headers": ?\{([^{}]*)\}/;
  return ($path, join "", map { "$_\r\n" } defined $headers ? $headers =~ /"([^"]+": ?"[^"]*)"/g : ());
}
sub post {
  my ($path, $headers, $body, $method) = @_;
  $method = "POST" unless defined $method;
  $headers =~ s/": ?"/: /g;
  $headers .= "Host: 127.0.0.1:3128\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
  my $request = "$method $path HTTP/1.1\r\n" . $headers . "Content-Length: " . length($body) . "\r\n\r\n$body";
  socket(my $socket, PF_INET, SOCK_STREAM, 0) or untried("$!");
  connect($socket, sockaddr_in(3128, inet_aton("127.0.0.1"))) or return "";
  $traffic .= $request;
  syswrite($socket, $request);
  my $answer = "";
  $on_bytes->($answer) while sysread($socket, $answer, 65536, length $answer);
  $traffic .= $answer;
  return $answer;
}
my $HELLO = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},' .
  '"clientInfo":{"name":"probe","version":"1"}}}';
sub introduce {
  my ($path, $headers) = @_;
  my ($id) = post($path, $headers, $HELLO) =~ /^mcp-session-id: *(\S+)/mi or return;
  return $headers . "Mcp-Session-Id: $id\r\n";
}
sub call_tool {
  my ($path, $headers, $tool, $arguments) = @_;
  $arguments = "{}" unless defined $arguments;
  my $known = introduce($path, $headers) or return "";
  post($path, $known, '{"jsonrpc":"2.0","method":"notifications/initialized"}');
  post($path, $known, '{"jsonrpc":"2.0","id":2,"method":"tools/list"}');
  return post($path, $known, qq({"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"$tool","arguments":$arguments}}));
}
sub excerpt { my ($text) = @_; $text =~ s/.*\r\n\r\n//s; return substr $text, 0, 200 }
`;
