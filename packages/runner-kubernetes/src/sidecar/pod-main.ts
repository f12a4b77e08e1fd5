import { PROXY_PORT } from "../requests/pod-paths.ts";
import { toRoots } from "./pod-roots.ts";
import { startSidecar } from "./start-sidecar.ts";

// Files of the agent are its own user's, who is also this one's.
process.umask(0o022);
void run();

async function run(): Promise<void> {
  const sidecar = await startSidecar({ roots: toRoots("/"), egressPort: PROXY_PORT });
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, sidecar.stop);
  await sidecar.ended;
  process.exit(0);
}
