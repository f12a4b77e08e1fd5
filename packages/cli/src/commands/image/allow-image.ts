import { dirname } from "node:path";
import { escapeForTerminal } from "@budgie/core/text";
import { EXIT, type Host } from "@budgie/mcp-server";
import { readImageApprovals, storeImageApproval, type ImageSource } from "@budgie/sandbox/images";
import type { Config } from "../../config/config.ts";
import { isYes, refuseWithoutPerson } from "../../process/refuse-without-person.ts";
import { findProject, requireSource } from "./find-project.ts";
import { formatSource } from "./format-source.ts";

/**
 * Runs `budgie image allow`: shows all that a project's image is built from, asks, and stores its key. Resolves to 1 if the answer is not "y".
 * Throws `INPUT_INVALID` without a terminal, so that no agent, script or client can allow one, and for what budgie does not build.
 */
export async function allowImage(config: Config, named: string | undefined, host: Host): Promise<number> {
  refuseWithoutPerson(host, "Only a person can allow the image of a project");
  const project = findProject(config, named, host);
  const source = requireSource(project);
  const { directory, state } = project;
  const known = readImageApprovals(config).find((one) => one.directory === directory)?.bases ?? {};
  const bases = await findBases(source, known, host);
  if (state !== undefined && "imageId" in state && isSame(bases, known)) {
    host.stdout.write(`${escapeForTerminal(`The image of "${directory}" is allowed and built as it is now.`)}\n`);
    return EXIT.done;
  }
  const lines = [
    `"${directory}" asks for an image of its own:`,
    ...formatSource(source, bases),
    "",
    ...listEffects(source),
  ];
  host.stdout.write(`${lines.map(escapeForTerminal).join("\n")}\n\nAllow it until this changes? [y/N] `);
  if (!(await isYes(host))) {
    host.stdout.write("Not allowed.\n");
    return EXIT.failed;
  }
  // The key is that of what was shown, whatever the files say by now.
  storeImageApproval({ directory, key: source.key, bases }, config);
  host.stdout.write(`Allowed. Now "budgie image build" builds it.\n`);
  return EXIT.done;
}

type Ids = Readonly<Record<string, string>>;

/**
 * Finds the images that it is built on, by their ids; those that the engine does not have are left out, or all without an engine, unless the ids
 * of an earlier approval would be lost.
 */
async function findBases({ bases }: ImageSource, known: Ids, { env: hostEnv, home }: Host): Promise<Ids> {
  const { findImageIds } = await import("@budgie/runner-docker");
  return findImageIds(bases, { home, hostEnv }).catch((error: unknown) => {
    if (Object.keys(known).length > 0) throw error;
    return {};
  });
}

/** Returns true if the images that it is built on are those of the earlier approval. */
function isSame(bases: Ids, known: Ids): boolean {
  return Object.entries(known).every(([name, id]) => bases[name] === id);
}

function listEffects({ context, file }: ImageSource): readonly string[] {
  const others = context.length - 1;
  const beside = `The ${others === 1 ? "other file" : `${others} other files`} of "${dirname(file)}" can be part of it: look at them too.`;
  return [
    "Its build runs these commands as root in containers of the engine's own network, which reach the internet and yours.",
    ...(others < 1 ? [] : [beside]),
    "Agents there then run in it: an image owns the libc and every program, so it can read the login that an agent gets, and colour every answer.",
  ];
}
