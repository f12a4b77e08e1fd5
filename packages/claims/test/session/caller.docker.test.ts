import { CLAIM_GROUPS } from "@budgie/claims";
import { createCaller, TIGHT } from "../../src/lab/caller.ts";
import type { Lab } from "../../src/lab/lab.ts";
import { inCarelessLab } from "../helpers/careless.ts";
import { describeClaims } from "../helpers/describe-claims.ts";

const withoutRules = inCarelessLab((lab) => {
  const call = createCaller({ ...lab, rules: { allowedRoots: [], guarded: undefined } });
  return { call: insteadOfMachine(lab, call), callForProject: call };
});

describeClaims(CLAIM_GROUPS.caller, {
  controls: {
    "guarded-directories": withoutRules,
    "named-directories": withoutRules,
    "allowed-roots": withoutRules,
    "reported-hooks": inCarelessLab((lab) => ({ call: createCaller({ ...lab, hooks: [] }) })),
    "only-tighter": inCarelessLab((lab) => {
      const policy = { ...TIGHT, workspace: "rw", egress: { mode: "bridge", hosts: [] }, limits: {} } as const;
      return { call: createCaller({ ...lab, policy: { ...policy, timeoutMs: 24 * 3_600_000 } }) };
    }),
  },
});

/** Uses folders of the lab in place of this machine's root and system folders, which no container should see. */
function insteadOfMachine({ host, root }: Lab, call: Lab["call"]): Lab["call"] {
  return (request, hooks) => {
    const ofMachine = request.prompt.includes("it has files") ? host.project : request.directory;
    return call({ ...request, directory: request.directory === "/" ? root : ofMachine }, hooks);
  };
}
