import { createOwner } from "@budgie/core";
import type { SandboxFacts } from "@budgie/runner-docker";
import type { Config } from "../../config/config.ts";
import type { Host } from "@budgie/mcp-server";

/** Looks at everything of this machine that sandboxed turns need. */
export async function inspectMachine(config: Config, { env: hostEnv, home }: Host): Promise<SandboxFacts> {
  // Imported late, as few commands need it.
  const { createKiroLogin, inspectSandbox } = await import("@budgie/runner-docker");
  const { credentials, kiroDataDir, runtime, sandboxImage: image, stateDir } = config;
  const { record: owner } = createOwner({ stateDir });
  const program = chooseProgram(config);
  const login = createKiroLogin({ dataDir: kiroDataDir, credentials });
  return inspectSandbox({ image, program, owner, stateDir, home, hostEnv, login, runtime });
}

/** Returns the program to look for in the image. Without `--sandbox` a path is one of the host's. */
function chooseProgram({ kiroBinary, sandbox }: Config): string {
  return sandbox || !kiroBinary.includes("/") ? kiroBinary : "kiro-cli";
}
