import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { expect, it } from "vitest";
import { begin, describeSessionCommands, tar } from "./describe-session-commands.ts";
import { listTraces, openEngine } from "../../helpers/engine.ts";
import {
  createBudgieUser,
  TEST_IMAGE,
  toEngineVariables,
  type Budgie,
  type BudgieUser,
} from "../../helpers/start-budgie.ts";

const KEEP = ["--keep-sessions"];
const sandbox = true;

async function cleanUp(user: BudgieUser): Promise<void> {
  const docker = await openEngine();
  for (const name of await listTraces(user)) {
    if (name.startsWith("/")) await docker.getContainer(name.slice(1)).remove({ force: true });
    else await docker.getVolume(name).remove();
  }
}

describeSessionCommands({ sandbox, leftovers: listTraces, cleanUp });

it("an export contains the conversation, and no secret of the host's, which the home contains", async () => {
  await using user = await createBudgieUser();
  const budgie = await user.start({ sandbox, args: KEEP });
  const id = await begin(budgie);
  const file = join(mkdtempSync(join(user.host.home, "exports-")), "home.tar");

  const { exitCode, stderr } = await user.run(["sessions", "export", id, file], toEngineVariables());

  const { login, ...others } = user.host.canaries;
  const home = await readHome(id);
  const exported = readFileSync(file, "latin1");
  expect(exitCode).toBe(0);
  expect(home).toContain(login);
  expect(home).toContain("token-finch");
  expect(exported).not.toContain(login);
  for (const canary of Object.values(others)) expect(exported).not.toContain(canary);
  expect(exported).toContain("token-finch");
  expect(tar("-tf", file)).toContain("home/agent/.local/share/kiro-cli/data.sqlite3\n");
  expect(stderr).toContain("Left out: The login");
  await quit(budgie);
  await cleanUp(user);
});

it("a kept home contains no login after its budgie has shut down, and gets it again", async () => {
  await using user = await createBudgieUser();
  const first = await user.start({ sandbox, args: KEEP });
  const id = await begin(first);
  const before = await readHome(id);
  await quit(first);
  const kept = await readHome(id);
  const second = await user.start({ sandbox, args: KEEP });

  const answer = await second.ask("shell-worker", { prompt: "[[recall]]", sessionId: id });

  const { login } = user.host.canaries;
  expect(before).toContain(login);
  expect(kept).not.toContain(login);
  expect(kept).toContain("token-finch");
  expect(answer.structuredContent).toMatchObject({ response: "token-finch", sessionId: id });
  expect(await readHome(id)).toContain(login);
  await quit(second);
  await cleanUp(user);
});

it("an export ends at a file that claims to be larger than the limit", async () => {
  await using user = await createBudgieUser();
  const budgie = await user.start({ sandbox, args: KEEP });
  const id = await begin(budgie, 'Keep the word token-finch. [[run: truncate -s 1T "$HOME/hole"]]');
  const file = join(user.host.home, "home.tar");

  const { exitCode, stderr } = await user.run(["sessions", "export", id, file], toEngineVariables());

  expect(exitCode).toBe(0);
  expect(stderr).toMatch(/^budgie: Left out: "home\/agent\/hole", and all that comes after it: .* 10 GiB\.$/m);
  expect(tar("-tf", file)).not.toContain("hole");
  expect(await listTraces(user)).not.toContainEqual(expect.stringContaining("reader"));
  await quit(budgie);
  await cleanUp(user);
});

async function quit({ child, ended }: Budgie): Promise<void> {
  child.stdin?.end();
  await ended;
}

/** Reads all bytes of the volume, without budgie. */
async function readHome(id: string): Promise<string> {
  const docker = await openEngine();
  const Mounts = [{ Type: "volume" as const, Source: `budgie-session-${id}`, Target: "/kept", ReadOnly: true }];
  const container = await docker.createContainer({ Image: TEST_IMAGE, HostConfig: { Mounts } });
  try {
    return (await buffer(await container.getArchive({ path: "/kept" }))).toString("latin1");
  } finally {
    await container.remove();
  }
}
