import { serveFakeApi, toList, toObject } from "../../../../runner-kubernetes/test/helpers/fake-api.ts";

const DENY = { podSelector: {}, policyTypes: ["Ingress", "Egress"] };
const VIOLATION = `violates PodSecurity "restricted:v1.30": privileged (container "agent")`;
/** The digest of an image. */
export const DIGEST = `sha256:${"a".repeat(64)}`;

/** Serves a cluster with all that budgie needs but one thing; `undefined` for nothing missing. */
export function serveCluster(missing?: "security") {
  return serveFakeApi(({ body, url }) => {
    const { pathname } = url;
    if (pathname === "/version") return { status: 200, json: { gitVersion: "v1.34.4" } };
    if (pathname.endsWith("accessreviews")) return { status: 201, json: { status: { allowed: true } } };
    if (pathname.endsWith("networkpolicies")) return toList(toObject("deny-all", { spec: DENY }));
    if (pathname.endsWith("resourcequotas")) return toList();
    if (missing === undefined && body.includes(`"privileged":true`)) {
      return { status: 403, json: { message: VIOLATION } };
    }
    return { status: 201, json: toObject("budgie-doctor") };
  });
}
