import { describe, expect, it } from "vitest";
import { parseSshHost } from "../../src/ssh/parse-ssh-host.ts";
import { noSshError, toSshError } from "../../src/ssh/to-ssh-error.ts";

const host = parseSshHost("ssh://me@host", "DOCKER_HOST");
const START = 'Cannot reach the engine by "ssh me@host": ';

describe("toSshError", () => {
  it.each([
    [
      255,
      "No ED25519 host key is known for h and you have requested strict checking.\r\nHost key verification failed.\r\n",
      'Run "ssh me@host" once in a terminal',
    ],
    [255, "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.\n", "Find out why"],
    [255, "me@host: Permission denied (publickey,password).\n", "without a password"],
    [
      1,
      "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock\n",
      "Add it to the group docker there",
    ],
    [127, "bash: line 1: docker: command not found\n", "Install Docker's client there"],
    [127, "", "Install Docker's client there"],
    [1, "docker: 'dial-stdio' is not a docker command.\n", "18.09 or later"],
    [255, "ssh: Could not resolve hostname h: Name or service not known\n", "Check the name"],
    [1, "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is it running?\n", "Start it there"],
    [255, "ssh: connect to host h port 22: Connection refused\n", 'Make "ssh me@host docker version" work'],
  ])("of exit code %d and %j says what to do", (exitCode, said, remedy) => {
    const error = toSshError(host, { exitCode, said });

    expect(error.code).toBe("RUNNER_UNAVAILABLE");
    expect(error.message).toMatch(new RegExp(`^${START}.*`));
    expect(error.message).toContain(remedy);
  });

  it("quotes the last line, short and without what a terminal obeys", () => {
    const said = `banner\nCannot reach "x".\u001b[31m\r red\u202e${"y".repeat(10_000)}\n\n`;
    const { message } = toSshError(host, { exitCode: 255, said });

    expect(message).toContain('It said "Cannot reach "x".?[31m? red?yyy');
    expect(message).not.toMatch(/\p{C}/u);
    expect(message.length).toBeLessThan(400);
  });

  it("names the exit code of a process that said nothing", () => {
    expect(toSshError(host, { exitCode: null, said: "\n" }).message).toMatch(/It ended with exit code none\.$/);
  });
});

it("noSshError says that OpenSSH is missing", () => {
  const missing = Object.assign(new Error("spawn ssh ENOENT"), { code: "ENOENT" });
  expect(noSshError(host, missing)).toMatchObject({
    code: "RUNNER_UNAVAILABLE",
    message: `${START}the program ssh did not start (ENOENT). Install OpenSSH's client.`,
  });
});
