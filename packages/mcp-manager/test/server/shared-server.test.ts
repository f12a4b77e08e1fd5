import { startMockServer } from "@budgie/testkit";
import { expect, it } from "vitest";
import { connectOnHost } from "../../src/transport/connect-on-host.ts";
import { createSharedServer } from "../../src/server/shared-server.ts";
import { manage, toAddress, toText } from "../helpers/servers.ts";

const TOOLS = [{ name: "echo" }, { name: "wait", does: { kind: "wait" as const, ms: 600_000 } }];

/** Starts a server that managers share. */
async function share(tools: NonNullable<Parameters<typeof startMockServer>[0]>["tools"] = TOOLS) {
  const mock = await startMockServer({ tools });
  const server = toAddress("a", mock.url);
  const shared = createSharedServer({
    server,
    connect: connectOnHost({ env: process.env, cwd: "/" }),
    client: { name: "test", version: "1" },
    restartDelayMs: 1,
  });
  return {
    mock,
    shared,
    /** Creates a manager that may use these tools of the server. */
    join: (allowed?: readonly string[]) => manage({ servers: [{ server, tools: allowed }], shared: () => shared }),
    async [Symbol.asyncDispose]() {
      await shared[Symbol.asyncDispose]();
      await mock[Symbol.asyncDispose]();
    },
  };
}

function call(name: string, given: Readonly<Record<string, unknown>> = {}) {
  return { name, arguments: given };
}

it("A shared server is one connection for all managers, each of which has its own tools of it", async () => {
  await using place = await share();
  const [one, other] = [place.join(["echo"]), place.join()];
  await Promise.all([one.manager.start(), other.manager.start()]);
  const late = place.join(["wait"]);
  await late.manager.start();

  expect(place.mock.sessions()).toBe(1);
  expect(toText(await one.manager.call("a", call("echo", { a: 1 })))).toBe('{"a":1}');
  await expect(one.manager.call("a", call("wait"))).rejects.toThrow("may not be called");
  expect(one.manager.list()).toEqual([{ name: "a", state: "ready", tools: 1, calls: 1, failed: 0, error: undefined }]);
  expect(other.manager.list()).toMatchObject([{ tools: 2, calls: 0 }]);
  const ready = [one, other, late].map(({ events }) => events.filter(({ kind }) => kind === "ready"));
  expect(ready).toMatchObject([[{ tools: 1 }], [{ tools: 2 }], [{ tools: 1 }]]);
});

it("A shared server goes on when a manager ends, whose calls alone are cancelled, and ends by itself", async () => {
  await using place = await share();
  const [one, other] = [place.join(), place.join()];
  await other.manager.start();
  const before = place.mock.requests.length;
  const { signal } = new AbortController();
  const stopped = [{}, { signal }].map((options) =>
    expect(one.manager.call("a", call("wait"), options)).rejects.toMatchObject({ code: "CANCELLED" }),
  );
  await expect.poll(() => place.mock.requests.length).toBeGreaterThan(before + 1);
  await one.manager[Symbol.asyncDispose]();
  await Promise.all(stopped);

  expect(one.manager.list()).toMatchObject([{ state: "not-launched" }]);
  expect(toText(await other.manager.call("a", call("echo")))).toBe("{}");
  await other.manager[Symbol.asyncDispose]();
  expect(place.mock.sessions()).toBe(1);
  await place.shared[Symbol.asyncDispose]();
  expect(place.mock.sessions()).toBe(0);
});

it("A shared server that ended is started once more for all managers", async () => {
  await using place = await share();
  const [one, other] = [place.join(), place.join()];
  await Promise.all([one.manager.start(), other.manager.start()]);
  place.mock.forget();

  await expect(one.manager.call("a", call("echo"))).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
  expect(toText(await other.manager.call("a", call("echo")))).toBe("{}");
  place.mock.forget();
  await expect(other.manager.call("a", call("echo"))).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
  const kinds = ["initializing", "ready", "restarting", "initializing", "ready", "error"];
  expect([one, other].map(({ events }) => events.map(({ kind }) => kind))).toEqual([kinds, kinds]);
  expect(place.shared.state()).toBe("error");
});

it("A shared server tells managers of the words of those tools alone that they may use", async () => {
  const other = [{ name: "echo", description: "Other words" }];
  const change = { name: "change", does: { kind: "change" as const, tools: [...other, { name: "change" }] } };
  await using place = await share([{ name: "echo" }, change]);
  const [one, two] = [place.join(["echo"]), place.join(["change"])];
  await Promise.all([one.manager.start(), two.manager.start()]);
  await two.manager.call("a", call("change"));

  expect(await one.heard("tools-changed")).toEqual({ kind: "tools-changed", server: "a", tools: ["echo"] });
  expect(two.events.map(({ kind }) => kind)).toEqual(["initializing", "ready", "list-changed"]);
});
