import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "@budgie/mcp-server";
import type { SandboxFacts } from "@budgie/runner-docker";
import { findOnPath } from "../../process/find-on-path.ts";

type User = Pick<Host, "env" | "platform">;
type Silent = Extract<SandboxFacts["engine"], { readonly ok: false }>["silent"];
type SilentEndpoint = NonNullable<Silent>[number];

/**
 * Returns the command that lets the user reach an engine, by the cause: no permission, another engine chosen, one that is stopped, or none.
 * `undefined` if the engine answered, since its problem says what to do. `root` has the machine's files; a test has its own.
 */
export function findEngineTodo(silent: Silent, user: User, root = "/"): string | undefined {
  if (silent === undefined) return undefined;
  const refused = silent.find(({ code }) => code === "EACCES");
  if (refused !== undefined) return enterGroup(refused.url.replace("unix://", ""), user, root);
  const [chosen] = silent.filter(({ foundBy }) => foundBy !== "the usual sockets");
  if (chosen !== undefined) return startChosen(chosen, user);
  return user.platform === "darwin" ? startOnMac(user, root) : startOnLinux(user, root);
}

/** Returns the command that gives the user the right to use a socket. */
function enterGroup(socket: string, { env }: User, root: string): string {
  const group = findGroup(socket, root);
  if (group === undefined) {
    return isPodmans(socket)
      ? "systemctl --user start podman.socket    # an engine of your own, since that one is root's"
      : 'sudo groupadd -f docker && sudo usermod -aG docker "$USER" && sudo systemctl restart docker    # then log in again';
  }
  if (group.members.includes(env["USER"] ?? env["LOGNAME"] ?? "")) {
    return `newgrp ${group.name}    # or log out and in: you are in the group, and this shell is older`;
  }
  return `sudo usermod -aG ${group.name} "$USER"    # then log out and in, or: newgrp ${group.name}`;
}

type Group = { readonly name: string; readonly members: readonly string[] };

/** Finds the group of a socket; `undefined` for root's own. */
function findGroup(socket: string, root: string): Group | undefined {
  const gid = statSync(join(root, socket), { throwIfNoEntry: false })?.gid ?? 0;
  const groups = read(join(root, "etc/group")).split("\n");
  const [name = "", , , members = ""] =
    groups.map((line) => line.split(":")).find((line) => line[2] === `${gid}`) ?? [];
  return gid === 0 || name === "" ? undefined : { name, members: members.split(",") };
}

function isPodmans(socket: string): boolean {
  return socket.endsWith("podman.sock");
}

/** Returns the command for an engine that the user chose by a variable or a docker context. */
function startChosen({ foundBy }: SilentEndpoint, { env, platform }: User): string {
  const other = "or start the engine that it names";
  if (foundBy === "DOCKER_HOST") return `unset DOCKER_HOST              # ${other}`;
  if (foundBy.includes('"desktop-linux"')) {
    return platform === "darwin" ? "open -a Docker" : "systemctl --user start docker-desktop";
  }
  if (foundBy.includes('"colima"') && has("colima", env)) return "colima start";
  return env["DOCKER_CONTEXT"] ? `unset DOCKER_CONTEXT    # ${other}` : `docker context use default    # ${other}`;
}

function startOnMac({ env }: User, root: string): string {
  const app = ["Docker", "OrbStack"].find((name) => existsSync(join(root, "Applications", `${name}.app`)));
  if (app !== undefined) return `open -a ${app}`;
  if (has("colima", env)) return "colima start";
  return has("podman", env) ? "podman machine start" : "brew install --cask docker && open -a Docker";
}

function startOnLinux({ env }: User, root: string): string {
  const hasSystemd = existsSync(join(root, "run/systemd/system"));
  // Debian's users have no folder of daemons on their path.
  if (has("docker", env) || existsSync(join(root, "usr/sbin/dockerd"))) {
    if (hasSystemd) return "sudo systemctl start docker    # or, without root: systemctl --user start podman.socket";
    return env["WSL_DISTRO_NAME"]
      ? "sudo service docker start    # or start Docker Desktop on Windows, with WSL integration for this distribution"
      : "sudo service docker start";
  }
  if (!has("podman", env)) return installOnLinux(root);
  return hasSystemd ? "systemctl --user start podman.socket" : "podman system service --time 0 &";
}

/** Returns the command that installs an engine with the packages of the machine's distribution. */
function installOnLinux(root: string): string {
  const names = [...read(join(root, "etc/os-release")).matchAll(/^ID(?:_LIKE)?=(.*)$/gm)].flatMap(([, value = ""]) =>
    value.replaceAll('"', "").split(" "),
  );
  const install = names.map((name) => INSTALL.get(name)).find((command) => command !== undefined);
  return install ?? "# install Docker or Podman: https://docs.docker.com/engine/install";
}

const JOIN = 'sudo usermod -aG docker "$USER"    # then log out and in';
const PODMAN = "podman && systemctl --user enable --now podman.socket";

const INSTALL: ReadonlyMap<string, string> = new Map([
  ["debian", `sudo apt-get update && sudo apt-get install docker.io && ${JOIN}`],
  ["ubuntu", `sudo apt-get update && sudo apt-get install docker.io && ${JOIN}`],
  ["fedora", `sudo dnf install ${PODMAN}`],
  ["rhel", `sudo dnf install ${PODMAN}`],
  ["suse", `sudo zypper install ${PODMAN}`],
  ["arch", `sudo pacman -S docker && sudo systemctl enable --now docker && ${JOIN}`],
]);

function has(command: string, env: User["env"]): boolean {
  return findOnPath(command, env["PATH"]) !== undefined;
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
