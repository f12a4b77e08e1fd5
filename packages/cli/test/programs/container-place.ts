import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import type { FakeLlm } from "@budgie/testkit";
import { listTraces, openEngine } from "../helpers/engine.ts";
import type { BudgieUser } from "../helpers/start-budgie.ts";
import { toEntry, type ProgramHost } from "./place.ts";
import type { Program } from "./programs.ts";

/** The image of the programs, built by `scripts/programs-image`. */
export const PROGRAMS_IMAGE = process.env["BUDGIE_TEST_PROGRAMS_IMAGE"] ?? "budgie-programs:latest";

/** The folder of the programs' packages in the image. */
export const IMAGE_PROGRAMS = "/opt/programs/node_modules";

/** Creates the place for sandboxes that can reach only the model. */
export async function createContainerPlace(_program: Program, llm: FakeLlm): Promise<ProgramHost> {
  const engine = await openEngine();

  async function listStarts({ host }: BudgieUser): Promise<readonly string[]> {
    const found = await engine.listContainers({ filters: { label: ["dev.budgie.role=turn"] } });
    return found.filter(({ Labels }) => Labels["dev.budgie.lock"]?.startsWith(host.home)).map(({ Id }) => Id);
  }

  return {
    isolation: "container",
    async serve(user, options) {
      const host = `llm.test:${llm.port}`;
      const env = { BASE_URL: `https://${host}/v1`, OPENAI_API_KEY: "test-key", PROGRAMS: IMAGE_PROGRAMS };
      const agents = { coder: toEntry(options, env) };
      const config = join(user.host.home, "budgie.json");
      writeFileSync(config, JSON.stringify({ caFile: llm.caFile, allowHost: [`${host}=127.0.0.1`], agents }));
      return user.serve({
        sandbox: true,
        args: ["--sandbox-image", PROGRAMS_IMAGE, "--config", config, ...options.args],
        env,
      });
    },
    toWorkspace: () => "/workspace",
    listStarts,
    async kill(user, { executable }) {
      const [id = ""] = await listStarts(user);
      const line = `for each in /proc/[0-9]*; do case $(readlink $each/exe) in */${executable}) kill -9 \${each#/proc/};; esac; done`;
      const killing = await engine.getContainer(id).exec({ Cmd: ["sh", "-c", line], AttachStdout: true });
      await finished((await killing.start({})).resume());
    },
    listTraces,
    async [Symbol.asyncDispose]() {},
  };
}
