import type { Limits, Right } from "./cluster.ts";
import { checkAnswer, unreadableError, type Asked } from "./judge-answer.ts";
import type { Access } from "./load-access.ts";
import { fieldsOf, parseBody } from "./parse-object.ts";
import { requestCluster } from "./request-cluster.ts";

/** A question about a right, which every account may ask about itself. */
export type RightQuestion = { readonly access: Access; readonly right: Right; readonly asked: Asked };

const PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/** Asks a cluster if its credentials have a right in the namespace. */
export async function askRight({ access, asked, right }: RightQuestion, limits?: Limits): Promise<boolean> {
  const { group, resource: named, verb } = right;
  const [resource, subresource] = named.split("/");
  const resourceAttributes = { namespace: access.namespace, group, resource, subresource, verb };
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes },
  };
  const answer = await requestCluster(access, { method: "POST", path: PATH, body }, limits);
  checkAnswer(answer, asked);
  const { allowed } = fieldsOf(parseBody(answer.body)?.["status"]);
  if (typeof allowed !== "boolean") throw unreadableError(asked);
  return allowed;
}
