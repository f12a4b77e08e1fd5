import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import type { FakeLlm } from "@budgie/testkit";
import { openEngine } from "../helpers/engine.ts";
import type { BudgieUser } from "../helpers/start-budgie.ts";
import { IMAGE_PROGRAMS, PROGRAMS_IMAGE } from "./container-place.ts";
import { createModelProxy } from "./model-proxy.ts";
import { toEntry, type ProgramHost } from "./place.ts";
import type { Program } from "./programs.ts";

const NAMED_USER = fileURLToPath(new URL("named-user.cjs", import.meta.url));

/** Creates the place for processes on this machine, with the program's files from the image. Their proxy reaches only the model. */
export async function createMachinePlace(program: Program, llm: FakeLlm): Promise<ProgramHost> {
  const proxy = await createModelProxy(llm);
  const folder = mkdtempSync(join(tmpdir(), "budgie-programs-"));
  await copyPackages(program, folder);
  const address = `http://127.0.0.1:${proxy.port}`;

  return {
    isolation: "none",
    async serve(user, options) {
      const env = { BASE_URL: `https://llm.test:${llm.port}/v1`, OPENAI_API_KEY: "test-key", PROGRAMS: folder };
      const more = { NODE_OPTIONS: `--require ${NAMED_USER}` };
      const coder = toEntry(options, { ...env, ...more });
      const config = join(user.host.home, "budgie.json");
      writeFileSync(config, JSON.stringify({ agents: { coder } }));
      const trusted = { SSL_CERT_FILE: llm.caFile, NODE_EXTRA_CA_CERTS: llm.caFile };
      const proxied = { HTTPS_PROXY: address, NO_PROXY: "localhost,127.0.0.1" };
      return user.serve({
        args: ["--config", config, ...options.args],
        env: { ...env, ...more, ...trusted, ...proxied },
      });
    },
    toWorkspace: ({ workspace }) => workspace,
    async listStarts(user) {
      return [...new Set(listProcesses(user).flatMap(({ turn }) => turn ?? []))];
    },
    async kill(user, { executable }) {
      for (const { file, pid } of listProcesses(user)) if (basename(file) === executable) process.kill(pid, "SIGKILL");
    },
    async listTraces(user) {
      const processes = listProcesses(user).map(({ file, pid }) => `${file} (pid ${pid})`);
      return [...processes, ...(existsSync(user.sessionsDir) ? readdirSync(user.sessionsDir) : [])];
    },
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true });
      await proxy[Symbol.asyncDispose]();
    },
  };
}

/** Copies the program's packages from the image to a folder. */
async function copyPackages({ packages }: Program, folder: string): Promise<void> {
  const engine = await openEngine();
  const container = await engine.createContainer({ Image: PROGRAMS_IMAGE, Cmd: ["true"] });
  try {
    for (const name of packages) {
      const archive = await container.getArchive({ path: `${IMAGE_PROGRAMS}/${name}` });
      const target = join(folder, dirname(name));
      mkdirSync(target, { recursive: true });
      const tar = spawn("tar", ["x", "-C", target], { stdio: ["pipe", "ignore", "inherit"] });
      const ended = once(tar, "close");
      await pipeline(archive, tar.stdin);
      await ended;
    }
  } finally {
    await container.remove();
  }
}

type Process = {
  readonly pid: number;
  /** The executable file */
  readonly file: string;
  /** The start that it descends from */
  readonly turn: string | undefined;
};

/** Lists the processes whose home is the user's, or that were given a path below it. */
function listProcesses({ host }: BudgieUser): readonly Process[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      const env = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      if (!env.includes(`HOME=${host.home}`) && !command.includes(host.home)) return [];
      const turn = env.find((entry) => entry.startsWith("BUDGIE_TURN="));
      return [{ pid: Number(pid), file: readlinkSync(`/proc/${pid}/exe`), turn }];
    } catch {
      // The process has ended, or is another user's.
      return [];
    }
  });
}
