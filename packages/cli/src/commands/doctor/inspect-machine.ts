import { createOwner } from "@budgie/core";
import type { SandboxFacts } from "@budgie/runner-docker";
import type { Config } from "../../config/config.ts";
import type { Host } from "@budgie/mcp-server";

/**
 * Looks at everything of this machine that sandboxed turns need, in an image that may lack the agents' programs: then those of
 * `--sandbox-image` count.
 */
export async function inspectMachine(
  config: Config,
  { env: hostEnv, home }: Pick<Host, "env" | "home">,
  image = config.sandboxImage,
): Promise<SandboxFacts> {
  // Imported late, as few commands need it.
  const { createKiroLogin, inspectSandbox } = await import("@budgie/runner-docker");
  const { credentials, kiroDataDir, runtime, sandboxImage: programsOf, stateDir } = config;
  const { record: owner } = createOwner({ stateDir });
  const program = chooseProgram(config);
  const login = createKiroLogin({ dataDir: kiroDataDir, credentials });
  return inspectSandbox({ image, programsOf, program, owner, stateDir, home, hostEnv, login, runtime });
}

/** Returns the program to look for in the image. Without `--sandbox` a path is one of the host's. */
function chooseProgram({ kiroBinary, sandbox }: Config): string {
  return sandbox || !kiroBinary.includes("/") ? kiroBinary : "kiro-cli";
}
