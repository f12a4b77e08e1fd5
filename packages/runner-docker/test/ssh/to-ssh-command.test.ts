import { expect, it } from "vitest";
import { parseSshHost } from "../../src/ssh/parse-ssh-host.ts";
import { toSshCommand } from "../../src/ssh/to-ssh-command.ts";

const SETTINGS =
  "BatchMode=yes ConnectTimeout=10 ClearAllForwardings=yes ControlMaster=no RemoteCommand=none PermitLocalCommand=no".split(
    " ",
  );
const OPTIONS = ["-T", "-a", "-x", ...SETTINGS.flatMap((setting) => ["-o", setting])];

it.each([
  ["ssh://host", ["--", "host", "docker system dial-stdio"]],
  ["ssh://me@host:22", ["-l", "me", "-p", "22", "--", "host", "docker system dial-stdio"]],
  ["ssh://host/run/d.sock", ["--", "host", "docker --host=unix:///run/d.sock system dial-stdio"]],
])("the arguments for %s ask no question, and end before the host", (url, expected) => {
  expect(toSshCommand(parseSshHost(url, "DOCKER_HOST"))).toEqual([...OPTIONS, ...expected]);
});
