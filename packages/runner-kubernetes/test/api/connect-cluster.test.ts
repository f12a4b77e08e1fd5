import { expect, it } from "vitest";
import { connectCluster } from "../../src/api/connect-cluster.ts";
import { connectFakeApi, toList, toObject, writeKubeconfig, type Said } from "../helpers/fake-api.ts";

const OBJECT: Said = { status: 200, json: toObject("a") };
const SECRET = { spec: { value: "canary-body" } };

it.each([
  ["with insecure-skip-tls-verify", { server: "https://10.0.0.1", "insecure-skip-tls-verify": true }],
  ["without TLS", { server: "http://10.0.0.1" }],
  ["has no cluster", { server: "nothing" }],
])("a kubeconfig %s is refused", async (words, settings) => {
  const refused = connectCluster({ kubeconfig: writeKubeconfig(settings) });
  await expect(refused).rejects.toMatchObject({ code: "CONFIG_INVALID", message: expect.stringContaining(words) });
});

it("sends its credential, the namespace of the context, and the body", async () => {
  const { cluster, heard } = await connectFakeApi(() => OBJECT);
  expect(cluster).toMatchObject({ name: "fake", namespace: "agents" });
  expect(await cluster.create("leases", SECRET, { isDryRun: true })).toMatchObject({
    outcome: "done",
    object: { uid: "uid-a" },
  });
  expect(heard).toMatchObject([
    { method: "POST", headers: { authorization: "Bearer canary-token" }, body: JSON.stringify(SECRET) },
  ]);
  expect(heard[0]?.url.href).toBe("http://fake/apis/coordination.k8s.io/v1/namespaces/agents/leases?dryRun=All");
});

it("asks once more after 401, and then says that the credentials are not accepted", async () => {
  const once = await connectFakeApi((_, index) => (index === 0 ? { status: 401 } : OBJECT));
  expect(await once.cluster.get("pods", "a")).toMatchObject({ outcome: "done" });
  const always = await connectFakeApi(() => ({ status: 401 }));
  await expect(always.cluster.get("pods", "a")).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  expect(always.heard).toHaveLength(2);
});

const said = (status: number, message: string, rest: object = {}): Said => ({ status, json: { message, ...rest } });
it.each([
  [said(404, ""), { outcome: "missing" }],
  [said(409, "", { reason: "AlreadyExists" }), { outcome: "exists" }],
  [said(409, "", { reason: "Conflict" }), { outcome: "changed" }],
  [said(403, "exceeded quota: few\u001b[1m"), { outcome: "wait", why: "exceeded quota: few?[1m" }],
])("a conflict, a missing object and a used-up quota are answers: %j", async (answer, outcome) => {
  const { cluster } = await connectFakeApi(() => answer);
  expect(await cluster.create("pods", SECRET)).toEqual(outcome);
});

it.each([
  [
    said(403, 'pods is forbidden: User "x" cannot create resource "pods" in API group ""'),
    "CONFIG_INVALID",
    'verbs ["create"]',
  ],
  [said(403, 'violates PodSecurity "restricted:latest": hostPID'), "CONFIG_INVALID", "hostPID"],
  [
    said(422, "canary-body", { details: { causes: [{ field: "spec.x", message: "canary-body" }] } }),
    "CONFIG_INVALID",
    "spec.x",
  ],
  [said(404, "", { details: { kind: "namespaces" } }), "CONFIG_INVALID", 'namespace "agents"'],
  [said(500, "canary-body"), "RUNNER_UNAVAILABLE", "500"],
  [said(200, "no object"), "RUNNER_UNAVAILABLE", "not what an API server says"],
])("an error says what to do, and nothing of the body: %j", async (answer, code, words) => {
  const { cluster } = await connectFakeApi(() => answer);
  const error = await cluster.create("pods", SECRET).catch((error: unknown) => error);
  expect(error).toMatchObject({ code, message: expect.stringContaining(words) });
  expect((error as Error).message).not.toContain("canary");
});

it("waits as long as a busy server asks, but not past its limit", async () => {
  const busy: Said = { status: 429, headers: { "retry-after": "1" } };
  const once = await connectFakeApi((_, index) => (index === 0 ? busy : OBJECT));
  expect(await once.cluster.get("pods", "a")).toMatchObject({ outcome: "done" });
  const long = await connectFakeApi(() => ({ status: 503, headers: { "retry-after": "600" } }));
  await expect(long.cluster.get("pods", "a")).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
  expect(long.heard).toHaveLength(1);
});

it("ends a request that is not answered, that is cancelled, or whose answer is endless", async () => {
  const silent = await connectFakeApi(() => () => undefined);
  await expect(silent.cluster.get("pods", "a", { limitMs: 50 })).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
  const cancelled = silent.cluster.get("pods", "a", { signal: AbortSignal.timeout(20) });
  await expect(cancelled).rejects.toMatchObject({ code: "CANCELLED" });
  const endless = await connectFakeApi(() => (response) => {
    const write = (): void => void (response.destroyed || response.write(Buffer.alloc(1024 * 1024, 32), write));
    write();
  });
  await expect(endless.cluster.list("pods", "a=b")).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
});

it("deletes the object with this uid only, and waits until it is gone", async () => {
  const { cluster, heard } = await connectFakeApi(({ method }, index) =>
    method === "DELETE" || index === 1 ? OBJECT : { status: 404 },
  );
  await cluster.remove("pods", { name: "a", uid: "uid-a" });
  expect(heard.map(({ method }) => method)).toEqual(["DELETE", "GET", "GET"]);
  expect(JSON.parse(heard[0]?.body ?? "")).toMatchObject({ gracePeriodSeconds: 1, preconditions: { uid: "uid-a" } });
  expect(heard[0]?.headers["content-length"]).toBe(String(heard[0]?.body.length));
});

it("asks again for a removal while the cluster is away, and not past its limit", async () => {
  const hangUp: Said = (response) => void response.destroy();
  const answers: readonly Said[] = [hangUp, { status: 500 }, OBJECT, hangUp, { status: 404 }];
  const { cluster, heard } = await connectFakeApi((_, index) => answers[index] ?? OBJECT);
  await cluster.remove("pods", { name: "a", uid: "uid-a" });
  expect(heard.map(({ method }) => method)).toEqual(["DELETE", "DELETE", "DELETE", "GET", "GET"]);

  const away = await connectFakeApi(() => hangUp);
  await expect(away.cluster.remove("pods", { name: "a", uid: "uid-a" }, { limitMs: 400 })).rejects.toMatchObject({
    code: "RUNNER_UNAVAILABLE",
  });
});

it("lists all pages, and begins again when they are too old", async () => {
  const page = { status: 200, json: { metadata: { resourceVersion: "1", continue: "next" }, items: [toObject("a")] } };
  const { cluster } = await connectFakeApi(
    (_, index) => [page, { status: 410 }, page, toList(toObject("b"))][index] ?? page,
  );
  expect((await cluster.list("pods", "x=y")).map(({ name }) => name)).toEqual(["a", "b"]);
});
