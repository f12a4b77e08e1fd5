import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pack } from "tar-stream";
import { CLAIM_GROUPS } from "@budgie/claims";
import { testEngine } from "../../../runner-docker/test/helpers/docker-place.ts";
import { inCarelessLab } from "../helpers/careless.ts";
import { describeClaims } from "../helpers/describe-claims.ts";
import { showHome, toHome } from "./show-home.ts";

describeClaims(CLAIM_GROUPS.secrets, {
  removals: {
    mounts: showHome,
    projection: (body) => {
      const path = join(toHome(body), ".kiro");
      body.HostConfig.Mounts?.push({ Type: "bind", Source: path, Target: path });
    },
    "own-environment": (body) => {
      const own = Object.entries(process.env).map(([name, value]) => `${name}=${value}`);
      body.Env = [...(body.Env ?? []), ...own.filter((variable) => variable.startsWith("BUDGIE_LAB_"))];
    },
  },
  controls: {
    "login-only": inCarelessLab((lab) => ({
      async run(argv, { login, ...options } = {}) {
        const ran = await lab.run(["/bin/true"], { ...options, ...(login && { login }) });
        if (ran.exit.exitCode === 0) await copyDatabase(options.session?.id ?? "", lab.host.kiroDataDir);
        return lab.run(argv, options);
      },
    })),
    credentials: inCarelessLab((lab) => ({ open: (options) => lab.open({ ...options, credentials: "full" }) })),
  },
});

/** Copies the host's whole database, in place of only its login. */
async function copyDatabase(session: string, kiroDataDir: string): Promise<void> {
  const archive = pack();
  archive.entry({ name: "data.sqlite3", mode: 0o644 }, readFileSync(join(kiroDataDir, "data.sqlite3")));
  archive.finalize();
  const container = (await testEngine()).getContainer(`budgie-session-${session}`);
  await container.putArchive(archive as unknown as NodeJS.ReadableStream, {
    path: dirname("/home/agent/.local/share/kiro-cli/data.sqlite3"),
  });
}
