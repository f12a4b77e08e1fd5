import { createHash } from "node:crypto";
import { readFileSync, readlinkSync, statSync } from "node:fs";
import { homedir, hostname, platform } from "node:os";

/** Names this machine, whatever it is called at the moment; hashed, since a machine id is not for everybody to read. */
export function toHostId(): string {
  const machine = attempt(() => readFileSync("/etc/machine-id", "utf8"));
  return toHash(["budgie", machine || (platform() === "darwin" && toHomesBirth()) || hostname()]);
}

/** What earlier budgies called this machine, with the name that it has at the moment and the pid namespace. */
export function toEarlierHostId(): string {
  return toHash([
    hostname(),
    attempt(() => readFileSync("/etc/machine-id", "utf8")),
    attempt(() => readlinkSync("/proc/self/ns/pid")),
  ]);
}

/** macOS has no file with the machine's id, and takes another name in every network. */
function toHomesBirth(): string {
  return attempt(() => {
    const { birthtimeMs, ino } = statSync(homedir());
    return `${ino} ${birthtimeMs}`;
  });
}

function toHash(facts: readonly string[]): string {
  return createHash("sha256").update(facts.join("\n")).digest("hex").slice(0, 16);
}

function attempt(read: () => string): string {
  try {
    return read().trim();
  } catch {
    return "";
  }
}
