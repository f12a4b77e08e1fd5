import { createOwner } from "@budgie/core";
import type { SandboxFacts } from "@budgie/runner-docker";
import type { Config } from "../../config/config.ts";
import type { Host } from "../../process/host.ts";
import { withFlags } from "../../terminal/with-flags.ts";

/** Looks at everything of this machine that sandboxed turns need. */
export async function inspectMachine(config: Config, { env: hostEnv, home }: Host): Promise<SandboxFacts> {
  // Imported late, as few commands need it.
  const { createKiroLogin, inspectSandbox } = await import("@budgie/runner-docker");
  const { credentials, kiroDataDir, runtime, sandboxImage: image, stateDir } = config;
  const { record: owner } = createOwner({ stateDir });
  const program = toProgram(config);
  const login = createKiroLogin({ dataDir: kiroDataDir, credentials });
  return inspectSandbox({ image, program, owner, home, hostEnv, login, runtime });
}

/** Returns a sentence on each thing that sandboxed turns need and this machine lacks: engine, image, runtime. */
export async function findMissing(config: Config, host: Host): Promise<readonly string[]> {
  if (!config.sandbox) return [];
  const { engine, image, runtime } = await inspectMachine(config, host);
  const problems = [engine, image, runtime].flatMap((part) =>
    part === undefined || part.ok ? [] : [withFlags(part.problem)],
  );
  // Without an engine nothing else can be looked for.
  return engine.ok ? problems : problems.slice(0, 1);
}

/** Returns the program to look for in the image. Without `--sandbox` a path is one of the host's. */
function toProgram({ kiroBinary, sandbox }: Config): string {
  return sandbox || !kiroBinary.includes("/") ? kiroBinary : "kiro-cli";
}
