import { join } from "node:path";
import { Readable } from "node:stream";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { toRecords } from "@budgie/sandbox/records";
import { serveFakePods } from "../../../runner-kubernetes/test/serve-fake-pods.ts";
import type { WireStream } from "../../../runner-kubernetes/src/wire/index.ts";
import { createInstallUser } from "../commands/install/create-install-user.ts";

/** More than a server takes to pack its sessions when it ends. */
const SLOW_MS = 4_000;

/** Sends an empty folder; that of the home late. */
async function pack({ end, input, opening, output }: WireStream): Promise<void> {
  input.resume();
  if (opening["volume"] === "home") await sleep(SLOW_MS);
  for await (const piece of Readable.from(toRecords((async function* () {})()))) output.write(piece);
  end({ ok: true });
}

async function findNothing({ end, input, output }: WireStream): Promise<void> {
  const paths = (await json(input)) as readonly string[];
  output.write(JSON.stringify(paths.map(() => null)));
  end({ ok: true });
}

it("exec keeps its session on a cluster that is slow to pack it, and leaves nothing there", async () => {
  using user = createInstallUser();
  const { home, project } = user;
  const answers = new Map([
    ["file pack", pack],
    ["control kinds", findNothing],
  ]);
  const pods = await serveFakePods({
    answer(word, stream) {
      void answers.get(word)?.(stream);
      return answers.has(word);
    },
  });
  const agent = { name: "worker", description: "sub-agent: Works" };
  user.write(join(home, ".kiro/agents/worker.json"), JSON.stringify(agent));
  const env = {
    BUDGIE_RUNNER: "kubernetes",
    BUDGIE_KUBECONFIG: pods.kubeconfig,
    BUDGIE_SANDBOX_IMAGE: "agents",
    BUDGIE_KUBERNETES_SIDECAR_IMAGE: "budgie",
    BUDGIE_ALLOW_ROOT: project,
    KIRO_API_KEY: "key",
  };

  const finished = await user.run(["exec", "worker", "-C", project, "--", "echo", "go"], env);

  expect(finished).toEqual({ exitCode: 0, stdout: "echo go\n" });
  expect(pods.made[0]?.asked.at(-1)).toBe("file pack");
  expect(pods.names()).toEqual([]);
});
