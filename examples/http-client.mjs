// Lists the tools of a budgie that serves HTTP. Arguments: its address; BUDGIE_HTTP_TOKEN is its token.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const client = new Client({ name: "example", version: "1.0.0" });
const headers = { Authorization: `Bearer ${process.env.BUDGIE_HTTP_TOKEN}` };
await client.connect(
  new StreamableHTTPClientTransport(new URL(process.argv[2] ?? "http://127.0.0.1:3333/mcp"), {
    requestInit: { headers },
  }),
);
try {
  const { tools } = await client.listTools();
  console.log(tools.map(({ name }) => name).join("\n"));
} finally {
  await client.close();
}
