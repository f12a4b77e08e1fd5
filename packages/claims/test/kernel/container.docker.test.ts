import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { CLAIM_GROUPS } from "@budgie/claims";
import { describeClaims } from "../helpers/describe-claims.ts";
import type { RemoveProtection } from "../helpers/remove-protections.ts";

// A harmless socket in place of the engine's.
let folder: string;
let socket: string;
const server = createServer((client) => client.destroy());

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "budgie-dummy-"));
  socket = join(folder, "engine.sock");
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  chmodSync(folder, 0o755);
  chmodSync(socket, 0o777);
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const mountSockets: RemoveProtection = ({ HostConfig }) => {
  const targets = ["/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock"];
  HostConfig.Mounts = [
    ...(HostConfig.Mounts ?? []),
    ...targets.map((Target) => ({ Type: "bind" as const, Source: socket, Target })),
  ];
};

describeClaims(CLAIM_GROUPS.container, { removals: { mounts: mountSockets } });
