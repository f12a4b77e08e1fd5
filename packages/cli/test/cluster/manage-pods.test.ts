import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { createOwner, createSessionId, type Owner } from "@budgie/core";
import { toMetadata } from "@budgie/runner-kubernetes/lease";
import { toEndedProcess } from "@budgie/testkit";
import { serveFakeApi, toList, toObject } from "../../../runner-kubernetes/test/helpers/fake-api.ts";
import { runCli } from "../../src/run-cli.ts";
import { createInstallUser } from "../commands/install/create-install-user.ts";
import { toSilentHost } from "../helpers/to-silent-host.ts";

const SESSION = createSessionId();

/** A user whose dead budgie left a Pod and its lease on a cluster; another one of the Pods belongs to a live one. */
async function setUp() {
  const { home, [Symbol.dispose]: dispose } = createInstallUser();
  onTestFinished(dispose);
  const stateDir = join(home, ".local/state/budgie");
  const [live, dead] = [createOwner({ stateDir }), createOwner({ stateDir, process: toEndedProcess() })];
  const turn = { runId: "a", agent: "coder", directory: "/project", isolation: "container", phase: "running" };
  live.answer(async (_, { send }) => send({ runs: [{ ...turn, startedMs: 0, sessionId: SESSION }] }));
  await live.hold();
  onTestFinished(() => live.release());
  const toPod = (name: string, { record }: Owner, session: string) =>
    toObject(name, {
      metadata: {
        ...toMetadata(record, session as typeof SESSION, "session"),
        ownerReferences: [{ uid: `uid-${name}` }],
      },
    });
  const pods = [toPod("pod-dead", dead, SESSION), toPod("pod-live", live, createSessionId())];
  const leases = [toObject("old", { metadata: toMetadata(dead.record, "", "lease") })];
  const { heard, kubeconfig } = await serveFakeApi(({ method, url }) => {
    if (url.pathname === "/version") return { status: 200, json: { gitVersion: "v1.34.4" } };
    if (method === "DELETE") return { status: 200 };
    const selector = url.searchParams.get("labelSelector") ?? "";
    if (selector === "") return { status: 404 };
    const of = selector.split("dev.budgie.session=")[1];
    const all = url.pathname.endsWith("pods") ? pods : leases;
    return toList(...all.filter(({ metadata }) => of === undefined || JSON.stringify(metadata).includes(of)));
  });
  return {
    deleted: () => heard.flatMap(({ method, url }) => (method === "DELETE" ? [url.pathname.split("/").at(-1)] : [])),
    run: async (argv: readonly string[], config = kubeconfig) => {
      const [stdout, reports]: [PassThrough, string[]] = [new PassThrough(), []];
      const env = { DOCKER_HOST: "unix:///no/engine", BUDGIE_KUBECONFIG: config };
      const report = (line: string): void => void reports.push(line);
      const host = toSilentHost({ home, cwd: home, env, stdout, report });
      const exitCode = await runCli(argv, host);
      return { exitCode, stdout: String((stdout.read() as Buffer | null) ?? ""), reports };
    },
  };
}

const K8S = ["--runner", "kubernetes"];

describe("on a cluster", () => {
  it("gc removes what a dead budgie left, and nothing there without --runner kubernetes", async () => {
    const { deleted, run } = await setUp();

    const without = await run(["gc"]);
    expect([without.stdout, deleted()]).toEqual(["Removed nothing.\n", []]);
    const { exitCode, reports, stdout } = await run(["gc", ...K8S]);

    expect(exitCode).toBe(0);
    expect(stdout).toContain(`removed pod pod-dead (session ${SESSION})\n`);
    expect(stdout).toContain(": its owner lives\nRemoved 1 pod and 1 lease; kept 1.");
    expect(reports[0]).toMatch(/^No container engine is reachable, so containers were not looked at\./);
    expect(deleted()).toEqual(["pod-dead", "old"]);
  });

  it("sessions are listed, and removed if no live budgie has them", async () => {
    const { deleted, run } = await setUp();

    expect((await run(["sessions", "ls", ...K8S])).stdout).toMatch(new RegExp(`^${SESSION.slice(0, 8)} .* dead `, "m"));
    expect((await run(["sessions", "ls"])).stdout).toBe("There are no sessions.\n");
    expect((await run(["sessions", "rm", SESSION, ...K8S])).stdout).toBe(`removed ${SESSION}\n`);
    expect(deleted()).toEqual(["pod-dead"]);
    await expect(run(["sessions", "export", SESSION, "home.tar", ...K8S])).rejects.toMatchObject({
      code: "SESSION_NOT_FOUND",
    });
  });

  it("ps names the Pod of a turn", async () => {
    const { run } = await setUp();
    expect((await run(["ps", ...K8S])).stdout).toMatch(/coder .* pod pod-dead$/m);
    expect((await run(["ps"])).stdout).not.toContain("pod-dead");
  });

  it("that cannot be reached, commands look at all other places, and say so", async () => {
    const { run } = await setUp();
    const lost = join(import.meta.dirname, "../fixtures/lost-cluster.yaml");

    for (const argv of [["gc"], ["sessions", "ls"]]) {
      const { exitCode, reports } = await run([...argv, ...K8S], lost);
      expect(exitCode).toBe(0);
      expect(reports).toContainEqual(
        expect.stringMatching(/^Pods are not looked at\. The cluster of the context "lost"/),
      );
    }
  });
});
