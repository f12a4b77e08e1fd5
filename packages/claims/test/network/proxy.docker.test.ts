import { CLAIM_GROUPS } from "@budgie/claims";
import { describeClaims } from "../helpers/describe-claims.ts";
import { createForgetfulProxy } from "./forgetful-proxy.ts";
import { proveBehind } from "../helpers/prove-behind.ts";
import { createUnwatchedProxy } from "./unwatched-proxy.ts";

const unwatched = proveBehind(createUnwatchedProxy);

describeClaims(CLAIM_GROUPS.proxy, {
  controls: {
    ...Object.fromEntries(CLAIM_GROUPS.proxy.map(({ id }) => [id, unwatched])),
    "no-rebinding": proveBehind(createForgetfulProxy),
  },
});
