import type { Command } from "commander";
import type { PushOptions } from "./push-images.ts";

/** The actions of `budgie image`, by the names of its commands. */
export type ImageActions = {
  readonly show: (directory: string | undefined, json: boolean) => Promise<void>;
  readonly allow: (directory: string | undefined) => Promise<void>;
  readonly deny: (directory: string | undefined) => Promise<void>;
  readonly build: (directory: string | undefined) => Promise<void>;
  readonly push: (options: PushOptions) => Promise<void>;
};

const DIR = "the project's directory; by default the present one";

/** Adds `budgie image show`, `allow`, `deny`, `build` and `push`. */
export function addImageCommands(program: Command, { allow, build, deny, push, show }: ImageActions): void {
  const image = program
    .command("image")
    .summary("the image that a project's files ask for")
    .description(
      "the image that a project's own files ask for: .budgie/Dockerfile, Dockerfile.sandbox, or .devcontainer/devcontainer.json. " +
        "It counts once you have allowed and built it",
    );
  image
    .command("show")
    .argument("[dir]", DIR)
    .description("print which image sandboxes there have and why, and what the project's files ask for; builds nothing")
    .option("--json", "print JSON")
    .action((directory: string | undefined, { json = false }: { json?: boolean }) => show(directory, json));
  image
    .command("allow")
    .argument("[dir]", DIR)
    .description("show all that the project's image is built from, and allow it until that changes; only at a terminal")
    .action(allow);
  image
    .command("deny")
    .argument("[dir]", DIR)
    .description("take back what was allowed: sandboxes there have the default image again")
    .action(deny);
  image
    .command("build")
    .argument("[dir]", DIR)
    .description("build the project's image as it was allowed; build-image builds budgie's own")
    .action(build);
  image
    .command("push")
    .argument("<name>", "where the images go, as REGISTRY/NAME or REGISTRY/NAME:TAG")
    .description(
      "push the sandbox's image and budgie's own to a registry, with your docker login, and print their digests for --runner kubernetes",
    )
    .option("--image <image>", "the sandbox's image on this machine; that of --sandbox-image by default")
    .option("--base <image>", "the image with Node 22 that budgie's own is built on; node:22-slim by default")
    .action((name: string, options: Omit<PushOptions, "name">) => push({ name, ...options }));
}
