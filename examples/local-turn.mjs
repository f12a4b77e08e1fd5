import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createOwner, createSessionId } from "@budgie/core";
import { createLocalRunner } from "@budgie/runner-local";

const stateDir = await mkdtemp(join(tmpdir(), "budgie-"));
const owner = createOwner({ stateDir });
const runner = createLocalRunner({
  sessionsDir: join(stateDir, "sessions"),
  stateDir,
  owner,
  hostEnv: process.env,
});

try {
  const session = await runner.openSession(createSessionId());
  const { workspace } = session.paths(process.cwd());
  const turn = await session.start(
    {
      argv: ["sh", "-c", 'echo "$GREETING from a session; the workspace is $1"', "sh", workspace],
      env: { GREETING: "Hello" },
      projections: [],
    },
    { directory: process.cwd(), input: "", signal: AbortSignal.timeout(10_000) },
  );
  const [stdout, stderr, exit] = await Promise.all([text(turn.stdout), text(turn.stderr), turn.exit]);
  process.stdout.write(stdout);
  process.stderr.write(stderr);
  console.log(`exit code ${exit.exitCode}, isolation ${runner.isolation}`);
} finally {
  await runner.close();
  await owner.release();
  await rm(stateDir, { recursive: true });
}
