// A client of the Java SDK, which does what the lines of stdin say, one after the other, and prints a line of JSON for each.
//
// {"connect": {"command", "args", "env"} | {"url", "token"}, "timeoutMs"?}  ->  {"server", "revision", "tools"} | {"error"}
// {"call": {"name", "arguments"}}                                           ->  {"result", "progress"} | {"error", "progress"}
//
// The client has the name that the SDK gives it, and one timeout for all requests.

import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema.CallToolRequest;
import io.modelcontextprotocol.spec.McpSchema.ProgressNotification;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;

public final class CallTools {
  private static final McpJsonMapper JSON = McpJsonDefaults.getMapper();

  private static McpSyncClient client;
  private static final List<ProgressNotification> progress = new CopyOnWriteArrayList<>();

  record Address(String command, List<String> args, Map<String, String> env, String url, String token) {}

  record Call(String name, Map<String, Object> arguments) {}

  record Step(Address connect, Integer timeoutMs, Call call) {}

  public static void main(String[] args) throws IOException {
    var lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = lines.readLine()) != null; ) {
      var step = JSON.readValue(line, Step.class);
      var seen = step.connect() == null ? call(step.call()) : connect(step);
      System.out.println(JSON.writeValueAsString(seen));
    }
    end();
    // The SDK's threads would keep the process.
    System.exit(0);
  }

  private static void end() {
    if (client != null) client.closeGracefully();
  }

  private static Map<String, Object> connect(Step step) {
    end();
    var spec = McpClient.sync(toTransport(step.connect())).progressConsumer(progress::add);
    if (step.timeoutMs() != null) spec.requestTimeout(Duration.ofMillis(step.timeoutMs()));
    client = spec.build();
    var seen = new LinkedHashMap<String, Object>();
    try {
      var initialized = client.initialize();
      seen.put("server", initialized.serverInfo());
      seen.put("revision", initialized.protocolVersion());
      seen.put("tools", client.listTools().tools().stream().map(Tool::name).toList());
    } catch (RuntimeException error) {
      seen.put("error", toError(error));
    }
    return seen;
  }

  private static McpClientTransport toTransport(Address to) {
    if (to.url() == null) {
      var parameters = ServerParameters.builder(to.command()).args(to.args()).env(to.env()).build();
      return new StdioClientTransport(parameters, JSON);
    }
    var url = URI.create(to.url());
    return HttpClientStreamableHttpTransport.builder(to.url().replace(url.getPath(), ""))
        .endpoint(url.getPath())
        .addHttpRequestCustomizer((builder, method, uri, body, context) ->
            builder.header("Authorization", "Bearer " + to.token()))
        .build();
  }

  private static Map<String, Object> call(Call asked) {
    progress.clear();
    var request = CallToolRequest.builder(asked.name()).arguments(asked.arguments()).progressToken("progress").build();
    var seen = new LinkedHashMap<String, Object>();
    try {
      seen.put("result", client.callTool(request));
    } catch (RuntimeException error) {
      seen.put("error", toError(error));
    }
    seen.put("progress", List.copyOf(progress));
    return seen;
  }

  private static Map<String, Object> toError(RuntimeException error) {
    var seen = new LinkedHashMap<String, Object>();
    if (error instanceof McpError answered && answered.getJsonRpcError() != null) {
      seen.put("code", answered.getJsonRpcError().code());
    }
    seen.put("message", String.valueOf(error.getMessage()));
    return seen;
  }
}
