import type { ClusterObject, Limits } from "./cluster.ts";
import { checkAnswer, unreadableError, type Asked } from "./judge-answer.ts";
import type { Access } from "./load-access.ts";
import { fieldsOf, listOf, parseBody, parseObject, textOf } from "./parse-object.ts";
import { requestCluster } from "./request-cluster.ts";

/** All objects with some labels, and the version of the cluster at which they were listed. */
export type PodList = { readonly objects: readonly ClusterObject[]; readonly resourceVersion: string };

/** The objects to list. */
export type ListQuery = { readonly path: string; readonly selector: string; readonly asked: Asked };

const PAGE = "100";
const MOST_PAGES = 100;

/** Lists all objects with these labels, in pages. Begins again once if the pages became too old meanwhile. */
export async function listObjects(access: Access, query: ListQuery, limits?: Limits): Promise<PodList> {
  return (await readPages(access, query, limits)) ?? (await readPages(access, query, limits)) ?? fail(query);
}

/** Resolves to `undefined` if the pages are too old. */
async function readPages(
  access: Access,
  { asked, path, selector }: ListQuery,
  limits: Limits | undefined,
): Promise<PodList | undefined> {
  const objects: ClusterObject[] = [];
  let next = "";
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const query = { labelSelector: selector, limit: PAGE, ...(next === "" ? {} : { continue: next }) };
    const answer = await requestCluster(access, { method: "GET", path, query }, limits);
    if (answer.status === 410) return undefined;
    checkAnswer(answer, asked);
    const body = parseBody(answer.body);
    const metadata = fieldsOf(body?.["metadata"]);
    const resourceVersion = textOf(metadata["resourceVersion"]);
    if (resourceVersion === "" || !Array.isArray(body?.["items"])) throw unreadableError(asked);
    objects.push(...listOf(body["items"]).flatMap((item) => parseObject(item) ?? []));
    next = textOf(metadata["continue"]);
    if (next === "") return { objects, resourceVersion };
  }
  throw unreadableError(asked);
}

function fail({ asked }: ListQuery): never {
  throw unreadableError(asked);
}
