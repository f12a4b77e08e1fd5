import { toShortName, type ToolCall } from "../agent/tool-call.ts";

/** Returns a tool call as one line. */
export function toTitle({ name, path, input }: ToolCall): string {
  switch (toShortName(name)) {
    case "read":
      return `Reading file: ${path}`;
    case "write":
      return `Writing file: ${path}`;
    case "shell":
      return `Running command: ${input["command"]}`;
    default:
      return `Running tool ${name}`;
  }
}
