import { CLAIM_GROUPS } from "@budgie/runner-docker";
import { describeClaims } from "./describe-claims.ts";

describeClaims(CLAIM_GROUPS.resources);
