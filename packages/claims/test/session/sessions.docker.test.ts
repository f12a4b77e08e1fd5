import { text } from "node:stream/consumers";
import type Docker from "dockerode";
import { CLAIM_GROUPS } from "@budgie/claims";
import type { SessionId } from "@budgie/core";
import { collect, type Ran } from "../../src/lab/collect.ts";
import type { Lab } from "../../src/lab/lab.ts";
import { testEngine } from "../../../runner-docker/test/helpers/docker-place.ts";
import { inCarelessLab } from "../helpers/careless.ts";
import { describeClaims } from "../helpers/describe-claims.ts";
import { createRawContainer, openRawSession } from "../helpers/raw-session.ts";
import type { CreateBody } from "../helpers/rewriting-engine.ts";
import { updateInPlace } from "./update-in-place.ts";

describeClaims(CLAIM_GROUPS.sessions, {
  removals: { "own-volumes": showOtherVolumes },
  controls: {
    "session-ids": inCarelessLab((lab) => ({
      open: (options = {}) => (options.id === undefined ? lab.open(options) : openRawSession(options)),
      call: callAny(lab),
    })),
    "copied-database": inCarelessLab(updateInPlace),
    "new-container": async (claim) => {
      const options = { Cmd: ["sleep", "600"], Env: ["LEFT_BEHIND=x"], WorkingDir: "/" };
      await using raw = await createRawContainer(await testEngine(), options);
      await raw.container.start();
      return await inCarelessLab(() => ({ run: (argv) => execute(raw.container, argv) }))(claim);
    },
  },
});

/** Mounts the homes of the lab's other sessions, in turns of the attacker. */
async function showOtherVolumes({ HostConfig, Labels }: CreateBody): Promise<void> {
  // The victim runs until its lab ends, and the home of the attacker's session could not be removed before it.
  if (HostConfig.Mounts?.some(({ Source }) => Source.endsWith("/code/other"))) return;
  const label = ["dev.budgie.role=home", `dev.budgie.instance=${Labels["dev.budgie.instance"]}`];
  const { Volumes } = await (await testEngine()).listVolumes({ filters: { label } });
  const others = Volumes.filter((volume) => volume.Labels?.["dev.budgie.session"] !== Labels["dev.budgie.session"]);
  for (const { Name } of others) HostConfig.Mounts?.push({ Type: "volume", Source: Name, Target: `/${Name}` });
}

/** Creates a call that resumes any session, whoever names it. */
function callAny(lab: Lab): Lab["call"] {
  return async (request) => {
    if (request.sessionId === undefined) return lab.call(request);
    const session = await openRawSession({ id: request.sessionId as SessionId });
    const command = { argv: ["/bin/sh", "-c", request.prompt] as const, env: {}, projections: [] };
    const { stdout } = await session.start(command, { directory: request.directory }).then(collect);
    return { response: stdout } as Awaited<ReturnType<Lab["call"]>>;
  };
}

async function execute(container: Docker.Container, argv: readonly string[]): Promise<Ran> {
  const execution = await container.exec({ Cmd: [...argv], AttachStdout: true, AttachStderr: true, Tty: true });
  const output = await text(await execution.start({ Tty: true }));
  const { ExitCode } = await execution.inspect();
  const exit = { exitCode: ExitCode ?? undefined, signal: undefined, reason: undefined, oomKilled: false };
  return { stdout: output.replaceAll("\r", ""), stderr: "", exit };
}
