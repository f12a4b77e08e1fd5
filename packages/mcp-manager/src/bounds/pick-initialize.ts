import { isRecord } from "@budgie/core/bounds";
import { cleanLine, cleanText } from "./clean-text.ts";
import { LIMITS } from "./limits.ts";

const FEATURES = ["completions", "logging", "prompts", "resources", "tools"];

/** Returns the fields of a server's `initialize` result that budgie reads. */
export function pickInitialize({ capabilities, instructions, protocolVersion, serverInfo }: Fields): Fields {
  const info = isRecord(serverInfo) ? serverInfo : {};
  const offered = isRecord(capabilities) ? capabilities : {};
  return {
    protocolVersion: parseText(protocolVersion),
    capabilities: Object.fromEntries(
      FEATURES.flatMap((name) => {
        const feature = offered[name];
        return isRecord(feature) ? [[name, { listChanged: feature["listChanged"] === true }]] : [];
      }),
    ),
    serverInfo: { name: parseText(info["name"]), version: parseText(info["version"]) },
    ...(typeof instructions === "string" ? { instructions: cleanText(instructions, LIMITS.description) } : {}),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function parseText(value: unknown): string {
  return typeof value === "string" ? cleanLine(value, LIMITS.name) : "";
}
