/** Returns the messages with which a client gets the list of tools, as one text. `tools/list` is request 2. */
export function toStartMessages() {
  const clientInfo = { name: "budgie-start", version: "1.0.0" };
  const messages = [
    { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } },
    { method: "notifications/initialized" },
    { id: 2, method: "tools/list" },
  ];
  return messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join("");
}
