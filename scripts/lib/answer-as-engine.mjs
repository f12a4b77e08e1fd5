// A fake container engine that answers the requests of a start with --sandbox.
import { once } from "node:events";
import { createServer } from "node:http";

const ANSWERS = {
  "/version": { ApiVersion: "1.41", Version: "20.10.24", Os: "linux", Arch: "amd64", Components: [{ Name: "Engine" }] },
  "/info": {
    NCPU: 2,
    MemTotal: 2 ** 33,
    MemoryLimit: true,
    SwapLimit: true,
    PidsLimit: true,
    CpuCfsQuota: true,
    CgroupVersion: "2",
    CgroupDriver: "systemd",
    SecurityOptions: ["name=apparmor", "name=seccomp,profile=default"],
    Runtimes: { runc: {} },
    Warnings: [],
  },
};
const IMAGE = { Id: "sha256:abc", Created: "2026-01-02T03:04:05Z", Os: "linux", Architecture: "amd64", Config: {} };

/** Starts the fake engine on a Unix socket. It has every image. */
export async function answerAsEngine(socket) {
  const server = createServer(({ url }, response) => {
    // Each container is gone as soon as it is removed.
    if (/^\/containers\/[^/]+\/json/.test(url)) response.statusCode = 404;
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify(ANSWERS[url] ?? IMAGE));
  });
  await once(server.listen(socket), "listening");
  return {
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
