import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { connectEngine } from "../../src/engine/engine.ts";

/** A server of OpenSSH on this machine, with keys of its own, and the tests' engine behind it. */
export type SshServer = AsyncDisposable & {
  readonly url: string;
  /** The environment of an ssh that knows the server and has its key */
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  /** As above, with lines of ssh's configuration that come before the others */
  readonly withSettings: (lines: string) => Readonly<Record<string, string | undefined>>;
  /** The command lines with which `docker` was started there, and `ended` for each that has ended */
  readonly commands: () => readonly string[];
  /** Makes `docker` there another script, until the returned function is called */
  readonly replaceDocker: (script: string) => () => void;
};

const SSHD = "/usr/sbin/sshd";
// The folder that sshd's package makes at the machine's start.
const SEPARATION = "/run/sshd";

/** Returns the reason for which this machine cannot run the server; `undefined` if it can. */
export function findSshLack(): string | undefined {
  for (const program of [SSHD, "/usr/bin/ssh", "/usr/bin/ssh-keygen"]) {
    try {
      accessSync(program, constants.X_OK);
    } catch {
      return `there is no ${program}`;
    }
  }
  try {
    userInfo();
  } catch {
    return "the user has no name";
  }
  return undefined;
}

/** Starts a server that lets in the user of the tests, on a port of its own. */
export async function startSshServer(): Promise<SshServer> {
  const { endpoint } = await connectEngine(process.env, process.env["HOME"] ?? "/root");
  const folder = mkdtempSync(join(tmpdir(), "budgie-ssh-"));
  const path = (name: string): string => join(folder, name);
  for (const name of ["here", "there"]) mkdirSync(path(name));
  if (process.getuid?.() === 0) mkdirSync(SEPARATION, { recursive: true, mode: 0o755 });
  for (const key of ["host-key", "user-key"]) {
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", path(key)]);
  }
  const port = await findFreePort();
  const script = (name: string, text: string): void =>
    writeFileSync(path(name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const docker = `echo "docker $*" >> "${path("log")}"\n${toDialer(endpoint.url)}\nstatus=$?\necho ended >> "${path("log")}"\nexit $status`;
  const user = userInfo().username;
  writeFileSync(path("log"), "");
  writeFileSync(path("known-hosts"), `[127.0.0.1]:${port} ${readFileSync(path("host-key.pub"), "utf8")}`);
  script("there/docker", docker);
  script("there/command", `PATH="${path("there")}:$PATH" exec sh -c "$SSH_ORIGINAL_COMMAND"`);
  script("here/ssh", `exec /usr/bin/ssh -F "$BUDGIE_TEST_SSH_CONFIG" "$@"`);
  writeFileSync(
    path("sshd-config"),
    `Port ${port}\nListenAddress 127.0.0.1\nHostKey ${path("host-key")}\nPidFile none\nUsePAM no\nStrictModes no\n` +
      `AuthorizedKeysFile ${path("user-key.pub")}\nPermitRootLogin prohibit-password\nPasswordAuthentication no\n` +
      `KbdInteractiveAuthentication no\nForceCommand ${path("there/command")}\n`,
  );
  const settings = `Host *\nUserKnownHostsFile ${path("known-hosts")}\nGlobalKnownHostsFile none\nIdentityFile ${path("user-key")}\nIdentitiesOnly yes\nIdentityAgent none\n`;
  let configs = 0;
  function withSettings(lines: string): SshServer["hostEnv"] {
    const config = path(`ssh-config-${configs++}`);
    writeFileSync(config, lines + settings);
    const PATH = `${path("here")}:${process.env["PATH"]}`;
    return { ...process.env, PATH, BUDGIE_TEST_SSH_CONFIG: config, DOCKER_HOST: `ssh://${user}@127.0.0.1:${port}` };
  }
  const server = spawn(SSHD, ["-D", "-e", "-f", path("sshd-config")], { stdio: ["ignore", "ignore", "pipe"] });
  const said: string[] = [];
  const lines = createInterface({ input: server.stderr }).on("line", (line) => said.push(line));
  await Promise.race([once(lines, "line"), once(server, "exit")]);
  if (!said.some((line) => line.includes("Server listening"))) throw new Error(`sshd said: ${said.join("\n")}`);
  return {
    url: `ssh://${user}@127.0.0.1:${port}`,
    hostEnv: withSettings(""),
    withSettings,
    commands: () => readFileSync(path("log"), "utf8").split("\n").filter(Boolean),
    replaceDocker(text) {
      script("there/docker", text);
      return () => script("there/docker", docker);
    },
    async [Symbol.asyncDispose]() {
      const gone = once(server, "exit");
      server.kill();
      await gone;
      // The server's sessions end after it, and write until then.
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/** Returns the shell command that dials the engine: docker's own client, or else a stand-in. */
function toDialer(engine: string): string {
  try {
    execFileSync("docker", ["system", "dial-stdio", "--help"], { stdio: "ignore" });
    return `DOCKER_HOST="${engine}" ${execFileSync("sh", ["-c", "command -v docker"], { encoding: "utf8" }).trim()} "$@"`;
  } catch {
    const dial = `const s = require("net").connect({ path: ${JSON.stringify(engine.replace("unix://", ""))}, allowHalfOpen: true });
process.stdin.pipe(s).pipe(process.stdout); s.on("close", () => process.exit(0));`;
    return `"${process.execPath}" -e '${dial}'`;
  }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
