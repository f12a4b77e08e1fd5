import { CLAIM_GROUPS } from "@budgie/runner-docker";
import { describeClaims } from "./describe-claims.ts";
import { proveUnwatched } from "./prove-unwatched.ts";

describeClaims(CLAIM_GROUPS.proxy, {
  controls: Object.fromEntries(CLAIM_GROUPS.proxy.map(({ id }) => [id, proveUnwatched])),
});
