import { createOwner, type Runner } from "@budgie/core";
import { createServerSandboxes, type ServerSandboxes } from "@budgie/mcp-manager/connections";
import { findUpstreamProxy, type Host } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";

/** Opens containers for servers, with an owner of their own. Connects to no engine before a server needs a container. */
export function openSandboxes(config: Config, { env: hostEnv, home }: Host): ServerSandboxes {
  const { acceptWeaker, caFile, runtime, sandboxImage: image, stateDir } = config;
  const owner = createOwner({ stateDir, isolation: "container" });
  let runner: Promise<Runner> | undefined;

  async function openRunner(): Promise<Runner> {
    const { createDockerRunner } = await import("@budgie/runner-docker");
    const network = { caFile, upstreamProxy: findUpstreamProxy(hostEnv) };
    return createDockerRunner({ image, owner, stateDir, home, hostEnv, acceptWeaker, runtime, ...network });
  }

  const sandboxes = createServerSandboxes(() => (runner ??= openRunner()), stateDir);
  return {
    connect: sandboxes.connect,
    async [Symbol.asyncDispose]() {
      // A failed start was reported by its server.
      const opened = await runner?.catch(() => undefined);
      await opened?.close();
      await owner.release();
    },
  };
}
