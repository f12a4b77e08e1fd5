import type { Config } from "./config.ts";
import type { Host } from "./host.ts";
import { loadTools } from "./load-tools.ts";

/** Prints the tools as a client gets them: for people, or with `--debug` whole. */
export function printTools(config: Config, host: Host): number {
  const definitions = loadTools(config, host).tools.map(({ definition }) => definition);
  const text = config.debug
    ? JSON.stringify(definitions, undefined, 2)
    : definitions.map(({ description = "", name }) => `${name}\n${indent(description)}`).join("\n\n");
  host.stdout.write(`${text}\n`);
  return 0;
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}
