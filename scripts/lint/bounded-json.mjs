// An oxlint plugin that lets nothing be parsed as JSON before `parseBoundedJson` has counted its values (ADR 28).

const rule = {
  meta: { schema: [{ type: "object" }] },
  create(context) {
    const file = context.filename.replaceAll("\\", "/");
    const isTrusted = (context.options[0]?.trusted ?? []).some(({ files }) =>
      files.some((trusted) => file.includes(trusted)),
    );
    if (isTrusted) return {};
    const report = (node, message) => context.report({ node, message });
    return {
      Identifier(node) {
        if (node.name !== "JSON") return;
        const { object, property } = node.parent;
        const isWriting = object === node && property.name === "stringify";
        if (!isWriting)
          report(node, "Parses JSON of any size. Use parseBoundedJson, or name the file and why in .oxlintrc.json.");
      },
      CallExpression({ arguments: given, callee }) {
        if (callee.property?.name !== "json" || given.length > 0) return;
        report(callee, "Parses a body of any size. Use readBody and parseBoundedJson.");
      },
      ImportDeclaration(node) {
        const names = node.specifiers.map(({ imported }) => imported?.name);
        const parses = (name) =>
          PARSING.has(name) || (name === "json" && node.source.value.endsWith("stream/consumers"));
        if (node.importKind !== "type" && names.some(parses)) {
          report(node, "Parses messages of any size. Bound them first, and name the file and how in .oxlintrc.json.");
        }
      },
    };
  },
};

// The parts of the MCP SDK that parse what they get.
const PARSING = new Set([
  "ReadBuffer",
  "SSEClientTransport",
  "SSEServerTransport",
  "StdioClientTransport",
  "StdioServerTransport",
  "StreamableHTTPClientTransport",
  "StreamableHTTPServerTransport",
  "WebSocketClientTransport",
  "deserializeMessage",
]);

export default { meta: { name: "budgie-json" }, rules: { bounded: rule } };
