import { CLAIM_GROUPS } from "@budgie/claims";
import { describeClaims } from "../helpers/describe-claims.ts";

describeClaims(CLAIM_GROUPS.kernel);
