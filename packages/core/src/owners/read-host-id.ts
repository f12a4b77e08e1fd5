import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { homedir, hostname, platform } from "node:os";

/** Returns an id of this machine, from its hostname only if there is nothing better. It is hashed, because a machine id is confidential. */
export function readHostId(): string {
  const machine = attempt(() => readFileSync("/etc/machine-id", "utf8"));
  const facts = ["budgie", machine || (platform() === "darwin" && readHomeFacts()) || hostname()];
  return createHash("sha256").update(facts.join("\n")).digest("hex").slice(0, 16);
}

/** Stands in for a machine id on macOS, which has no such file and may change its hostname with the network. */
function readHomeFacts(): string {
  return attempt(() => {
    const { birthtimeMs, ino } = statSync(homedir());
    return `${ino} ${birthtimeMs}`;
  });
}

function attempt(read: () => string): string {
  try {
    return read().trim();
  } catch {
    return "";
  }
}
