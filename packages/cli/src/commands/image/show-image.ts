import { escapeForTerminal } from "@budgie/core/text";
import { EXIT, type Host } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";
import { stringifySafely } from "../../terminal/stringify-safely.ts";
import { findProject, type Project } from "./find-project.ts";
import { findTools } from "./find-tools.ts";
import { formatSource } from "./format-source.ts";
import { suggestDockerfile } from "./suggest-dockerfile.ts";

/** Runs `budgie image show`: says which image sandboxes in a directory have and why, and what the project's files ask for. Builds nothing. */
export function showImage(config: Config, named: string | undefined, { host, json }: ShowImageOptions): number {
  const project = findProject(config, named, host);
  const tools = project.source === undefined ? findTools(project.directory) : [];
  const suggested = tools.length === 0 ? undefined : suggestDockerfile(tools, config.sandboxImage);
  if (json) host.stdout.write(stringifySafely({ ...toJson(project), tools, suggested }));
  else {
    const lines = [...formatProject(project, config.sandboxImage), ...formatSuggestion(suggested)];
    host.stdout.write(`${lines.map(escapeForTerminal).join("\n")}\n`);
  }
  return EXIT.done;
}

type ShowImageOptions = { readonly json: boolean; readonly host: Host };

function toJson({ configured, directory, source, state }: Project) {
  if (source === undefined) return { directory, configured };
  const { args, context, dockerfile, file, ignored, key, refused, target } = source;
  const files = context.map(({ path }) => path);
  return { directory, configured, ...state, file, key, dockerfile, files, args, target, ignored, refused };
}

function formatProject({ configured, directory, source, state }: Project, usual: string): readonly string[] {
  if (configured !== undefined) {
    return [`The image of "${directory}" is "${configured}", as your configuration says.`];
  }
  if (source === undefined || state === undefined)
    return [`The image of "${directory}" is "${usual}", as everywhere: no file there asks for another.`];
  const now =
    "imageId" in state
      ? `The image of "${directory}" is the project's, ${state.imageId}.`
      : `The image of "${directory}" is "${usual}". The project's: ${state.reason}.`;
  return [now, ...formatSource(source)];
}

function formatSuggestion(suggested: string | undefined): readonly string[] {
  if (suggested === undefined) return [];
  return [
    "",
    "Its files ask for tools. A Dockerfile for .budgie/Dockerfile, to look at and change:",
    "",
    ...suggested
      .trimEnd()
      .split("\n")
      .map((line) => `  ${line}`),
  ];
}
