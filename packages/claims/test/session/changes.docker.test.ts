import { CLAIM_GROUPS } from "@budgie/claims";
import { createCaller, WRITING } from "../../src/lab/caller.ts";
import { inCarelessLab } from "../helpers/careless.ts";
import { describeClaims } from "../helpers/describe-claims.ts";
import { createTrustingWatch } from "./trusting-watch.ts";

const NOTHING = { changedExecutablePaths: [], gitChanges: [], warnings: [] };

describeClaims(CLAIM_GROUPS.changes, {
  controls: {
    "no-outside-names": inCarelessLab((lab) => ({
      callWriter: ({ beforeOpening = () => undefined } = {}) =>
        createCaller({ ...lab, policy: WRITING, watch: createTrustingWatch(beforeOpening) }),
    })),
    "reported-changes": inCarelessLab((lab) => {
      const watch = () => ({ ready: Promise.resolve(), findChanges: async () => NOTHING });
      return { callWriter: () => createCaller({ ...lab, policy: WRITING, watch }) };
    }),
  },
});
