import type { Command } from "commander";
import type { TurnRequest } from "@budgie/core";
import type { runBuildImage } from "./run-build-image.ts";
import { parsePreset } from "../agents/parse-preset.ts";
import { append } from "./server-options.ts";
import type { GcOptions } from "./run-gc.ts";

type GcArguments = Partial<Pick<GcOptions, "dryRun" | "force" | "json" | "legacy">> & Pick<GcOptions, "olderThan">;

/** The arguments of `budgie init`; the directory relative to the current one. */
export type InitArguments = Pick<TurnRequest, "directory"> & {
  /** Answer every question with yes */
  readonly yes: boolean;
};

/** Adds `budgie init`. */
export function addInit(program: Command, run: (options: InitArguments) => Promise<void>): void {
  program
    .command("init")
    .summary("set budgie up, up to a first answer")
    .description(
      "check engine, image and login, write a first agent, call it, and add budgie to your clients; does only what is missing",
    )
    .option("-C, --directory <dir>", "where the agent is called", ".")
    .option("--yes", "answer every question with yes")
    .action(({ directory, yes = false }: Partial<InitArguments>) => run({ directory: directory ?? ".", yes }));
}

/** Adds `budgie gc`, formerly `gc-volumes`. */
export function addGc(program: Command, run: (options: GcOptions) => Promise<void>): void {
  program
    .command("gc")
    .alias("gc-volumes")
    .summary("remove what dead budgies left behind")
    .description("remove the containers, volumes and folders that dead budgies left behind")
    .option("--dry-run", "say what would be removed, and remove nothing")
    .option("--force", "include what is younger than 24h and belongs to another machine or to a budgie in a container")
    .option("--older-than <duration>", "keep what is younger than this", "0")
    .option("--legacy", "include the volumes that the original budgie, in Go, left; end that one before")
    .option("--json", "print JSON")
    .action(({ dryRun = false, force = false, json = false, legacy = false, olderThan }: GcArguments) =>
      run({ dryRun, force, json, legacy, olderThan }),
    );
}

type DoctorOptions = { readonly image?: string; readonly json: boolean; readonly prove: boolean };

/** Adds `budgie doctor`. */
export function addDoctor(program: Command, run: (options: DoctorOptions) => Promise<void>): void {
  program
    .command("doctor")
    .summary("check this machine and print fixes")
    .description(
      "look at what sandboxed turns need of engine, image, login, network, agents and folders, and say what is missing",
    )
    .option("--image <image>", "look too whether agents run in this image of a project, with their programs beside it")
    .option("--prove", "attack a sandbox as an agent could, and print what held; takes a minute or two")
    .option("--json", "print JSON")
    .action(({ image, json = false, prove = false }: Partial<DoctorOptions>) =>
      run({ json, prove, ...(image === undefined ? {} : { image }) }),
    );
}

type BuildArguments = {
  readonly tag: string;
  readonly with?: readonly string[];
  readonly buildArg?: readonly string[];
  readonly context?: string;
  readonly network?: string;
};

/** Adds `budgie build-image`. */
export function addBuildImage(
  program: Command,
  run: (options: Omit<Parameters<typeof runBuildImage>[0], "caFile">) => Promise<void>,
): void {
  program
    .command("build-image")
    .summary("build the sandbox image")
    .description("build the sandbox image; its steps trust the certificates of --ca-file, and the image does not")
    .option("--tag <image>", "its name", "budgie-sandbox:latest")
    .option("--with <preset>", "add the program of a preset, as of budgie agents add; repeatable", append)
    .option("--build-arg <name=value>", "a build argument; repeatable", append)
    .option("--context <dir>", "where Dockerfile.sandbox, or else Dockerfile, and docker/ are; budgie's own by default")
    .option("--network <mode>", "the network of the build, such as host; the engine's own by default")
    .action(({ buildArg = [], context, network, tag, with: presets = [] }: BuildArguments) =>
      run({ tag, buildArgs: buildArg, context, network, presets: presets.map(parsePreset) }),
    );
}
