import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findEngineTodo } from "../../../src/commands/doctor/find-engine-todo.ts";

let root: string;
beforeEach(() => void (root = mkdtempSync(join(tmpdir(), "budgie-machine-"))));
afterEach(() => rmSync(root, { recursive: true }));

const SOCKET = "/var/run/docker.sock";
const USUAL = { url: `unix://${SOCKET}`, foundBy: "the usual sockets" };
const LINUX = { platform: "linux", env: { USER: "ann" } } as const;
const MAC = { platform: "darwin", env: {} } as const;

function write(path: string, text = "", mode = 0o644): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, mode);
}

/** Puts programs on the machine's path. */
function install(...names: readonly string[]): { readonly PATH: string } {
  for (const name of names) write(`bin/${name}`, "", 0o755);
  return { PATH: join(root, "bin") };
}

describe("without permission on the socket", () => {
  const refused = { ...USUAL, code: "EACCES" };

  // Only root may give a file to a group of others.
  it.runIf(process.getuid?.() === 0).each([
    ["wheel:x:970:\ndocker:x:971:bob", 'sudo usermod -aG docker "$USER"    # then log out and in, or: newgrp docker'],
    ["docker:x:971:bob,ann", "newgrp docker    # or log out and in: you are in the group, and this shell is older"],
  ])("with the groups %j the command is %s", (groups, command) => {
    write("etc/group", `root:x:0:\n${groups}\n`);
    write(SOCKET);
    chownSync(join(root, SOCKET), 0, 971);

    expect(findEngineTodo([refused], LINUX, root)).toBe(command);
  });

  it("a socket that is root's alone gets a group, and Podman's gets another engine", () => {
    const podman = { ...refused, url: "unix:///run/podman/podman.sock" };

    expect(findEngineTodo([refused], LINUX, root)).toMatch(/^sudo groupadd -f docker && .*restart docker {4}# /);
    expect(findEngineTodo([podman], LINUX, root)).toMatch(/^systemctl --user start podman\.socket {4}# /);
  });

  it("the permission comes before other engines that do not run", () => {
    const silent = [{ ...USUAL, url: "unix:///home/ann/.docker/run/docker.sock", code: "ECONNREFUSED" }, refused];

    expect(findEngineTodo(silent, LINUX, root)).toMatch(/^sudo groupadd/);
  });
});

describe("without an engine that runs", () => {
  it("an engine that answered has no command, since its problem says what to do", () => {
    expect(findEngineTodo(undefined, LINUX, root)).toBeUndefined();
  });

  it.each([
    ["DOCKER_HOST", {}, /^unset DOCKER_HOST .*# or start the engine/],
    ['the docker context "work"', {}, /^docker context use default .*# or start the engine/],
    ['the docker context "work"', { DOCKER_CONTEXT: "work" }, /^unset DOCKER_CONTEXT .*# or start the engine/],
    ['the docker context "desktop-linux"', {}, /^systemctl --user start docker-desktop$/],
  ])("one chosen by %s with %j is left or started", (foundBy, env, command) => {
    const silent = [{ url: "unix:///nowhere", foundBy, code: "ENOENT" }];

    expect(findEngineTodo(silent, { ...LINUX, env }, root)).toMatch(command);
  });

  it.each([
    [["docker"], true, /^sudo systemctl start docker {4}/],
    [["docker", "podman"], false, /^sudo service docker start$/],
    [["podman"], true, /^systemctl --user start podman\.socket$/],
    [["podman"], false, /^podman system service/],
  ])("Linux with %j, and systemd %s, starts it", (programs, hasSystemd, command) => {
    if (hasSystemd) mkdirSync(join(root, "run/systemd/system"), { recursive: true });

    expect(findEngineTodo([], { ...LINUX, env: install(...programs) }, root)).toMatch(command);
  });

  it.each([
    [
      'ID=debian\nVERSION_ID="12"',
      /^sudo apt-get update && sudo apt-get install docker\.io && sudo usermod -aG docker "\$USER"/,
    ],
    ["ID=linuxmint\nID_LIKE=ubuntu", /^sudo apt-get update && sudo apt-get install docker\.io/],
    ['ID="rocky"\nID_LIKE="rhel centos fedora"', /^sudo dnf install podman && systemctl --user enable/],
    ["ID=arch", /^sudo pacman -S docker/],
    ["ID=other", /^# install Docker or Podman: https:/],
  ])("Linux without any, and %j, installs one", (release, command) => {
    write("etc/os-release", `NAME=x\n${release}\n`);

    expect(findEngineTodo([], { ...LINUX, env: install() }, root)).toMatch(command);
  });

  it("Debian's daemon counts without docker on the path", () => {
    write("usr/sbin/dockerd");

    expect(findEngineTodo([], { ...LINUX, env: install() }, root)).toBe("sudo service docker start");
  });

  it("a Mac starts the program that it has, or installs one", () => {
    const onMac = (...names: readonly string[]) => findEngineTodo([], { ...MAC, env: install(...names) }, root);

    expect(onMac()).toBe("brew install --cask docker && open -a Docker");
    expect(onMac("podman")).toBe("podman machine start");
    expect(onMac("colima")).toBe("colima start");
    mkdirSync(join(root, "Applications/OrbStack.app"), { recursive: true });
    expect(onMac()).toBe("open -a OrbStack");
  });
});
