import { isWithin } from "@budgie/core/policy";
import { CACHE_FOLDER } from "./cache-environment.ts";
import { SERVICES_TARGET, SOCKETS_TARGET } from "./proxy-environment.ts";
import { SANDBOX } from "./sandbox-paths.ts";

// Symlinks of many images are here too.
const TAKEN = [...Object.values(SANDBOX), CACHE_FOLDER, SERVICES_TARGET, SOCKETS_TARGET, "/bin", "/lib", "/sbin"];

// A host's path may lie in these, and not replace them.
const TEMPORARY = ["/tmp", "/var/tmp"];

/** Finds the path that a sandbox needs itself, and that a host's path shown there would hide or lie in; `undefined` if there is none. */
export function findTakenPath(path: string): string | undefined {
  return (
    TAKEN.find((own) => isWithin(path, own) || isWithin(own, path)) ?? TEMPORARY.find((own) => isWithin(own, path))
  );
}
