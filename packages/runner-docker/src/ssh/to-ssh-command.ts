import type { SshHost } from "./parse-ssh-host.ts";

// In less than the time for which budgie waits for an answer, so that ssh can still give its reason.
const CONNECT_LIMIT_S = 10;
const SETTINGS = [
  "BatchMode=yes",
  `ConnectTimeout=${CONNECT_LIMIT_S}`,
  "ClearAllForwardings=yes",
  // A connection that others share would take them with it when it ends.
  "ControlMaster=no",
  "RemoteCommand=none",
  "PermitLocalCommand=no",
];
const OPTIONS = ["-T", "-a", "-x", ...SETTINGS.flatMap((setting) => ["-o", setting])];

/**
 * Converts a machine to the arguments of `ssh`, with which that connects its stdin and stdout to the engine there. They are those of the
 * docker command, but never wait for a password, and begin nothing else that the user's configuration names for a host: each of many connections would.
 */
export function toSshCommand({ name, port, socketPath, user }: SshHost): readonly string[] {
  const place = socketPath === undefined ? "" : ` --host=unix://${socketPath}`;
  return [
    ...OPTIONS,
    ...(user === undefined ? [] : ["-l", user]),
    ...(port === undefined ? [] : ["-p", String(port)]),
    "--",
    name,
    `docker${place} system dial-stdio`,
  ];
}
