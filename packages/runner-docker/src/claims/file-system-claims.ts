import type { Claim } from "./claim.ts";
import { inSandbox } from "./in-sandbox.ts";

export const FILE_SYSTEM_CLAIMS: readonly Claim[] = [
  {
    id: "read-only-root",
    promise: "An agent cannot change the image's files, for itself or for another.",
    walls: ["read-only-root", "user"],
    probes: ["/", "/etc", "/usr/bin", "/root", "/var/lib"].map((folder) =>
      inSandbox(`write to ${folder}`, toWriteProbe(`${folder}/budgie-probe`)),
    ),
  },
];

function toWriteProbe(path: string): string {
  return `[ -d "$(dirname ${path})" ] || untried "the image has no such folder"
    error=$( (echo probe >'${path}') 2>&1 ) && through "written"
    held "$error"`;
}
