import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { McpServer } from "../src/config/mcp-server.ts";
import { manage, toAddress, toProcess, toText } from "./helpers/servers.ts";

const require = createRequire(import.meta.url);

const PROGRAMS = {
  everything: require.resolve("@modelcontextprotocol/server-everything/dist/index.js"),
  filesystem: require.resolve("@modelcontextprotocol/server-filesystem/dist/index.js"),
  memory: require.resolve("@modelcontextprotocol/server-memory/dist/index.js"),
};

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "budgie-real-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Returns a server of the npm registry as a program of this machine. */
function toRealServer(
  name: keyof typeof PROGRAMS,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): McpServer {
  return toProcess(name, {}, { command: process.execPath, args: [PROGRAMS[name], ...args], env });
}

function call(name: string, given: Readonly<Record<string, unknown>> = {}) {
  return { name, arguments: given };
}

describe("server-filesystem", () => {
  it("reads and writes in its folder, and has no tool that is not allowed", async () => {
    const server = toRealServer("filesystem", [folder]);
    const tools = ["write_file", "read_text_file"];
    const { manager } = manage({ servers: [{ server, tools }] });
    await using _ = manager;
    const path = join(folder, "note.txt");

    expect((await manager.tools("filesystem")).map(({ name }) => name)).toEqual(tools.toSorted());
    await manager.call("filesystem", call("write_file", { path, content: "a note" }));
    expect(readFileSync(path, "utf8")).toBe("a note");
    expect(toText(await manager.call("filesystem", call("read_text_file", { path })))).toBe("a note");
    expect(await manager.call("filesystem", call("read_text_file", { path: "/etc/hosts" }))).toMatchObject({
      isError: true,
    });
    await expect(manager.call("filesystem", call("move_file", {}))).rejects.toThrow("may not be called");
  });
});

describe("server-memory", () => {
  it("has what it was told in an earlier process", async () => {
    const server = toRealServer("memory", [], { MEMORY_FILE_PATH: join(folder, "memory.jsonl") });
    const entity = { name: "budgie", entityType: "bird", observations: ["it is green"] };
    const first = manage({ servers: [server] }).manager;
    await first.call("memory", call("create_entities", { entities: [entity] }));
    await first[Symbol.asyncDispose]();
    const { manager } = manage({ servers: [server] });
    await using _ = manager;

    const { structuredContent } = await manager.call("memory", call("search_nodes", { query: "green" }));
    expect(structuredContent).toMatchObject({ entities: [entity] });
  });
});

describe.each([
  ["standard streams", startOnStreams],
  ["streamable HTTP", startOnHttp],
])("server-everything over %s", (_, start) => {
  it("lists, calls, tells progress, is cancelled, changes its lists, and has resources and prompts", async () => {
    await using started = await start();
    const { events, manager } = manage({ servers: [started.server] });
    await using _manager = manager;
    const name = "everything";
    const names = (await manager.tools(name)).map((tool) => tool.name);

    expect(names).toContain("get-sum");
    // The server offers these only to clients with the capabilities for them.
    expect(names.filter((tool) => /sampling|elicitation|roots/.test(tool))).toEqual([]);
    expect(toText(await manager.call(name, call("get-sum", { a: 2, b: 3 })))).toMatch(/\b5\b/);
    const { structuredContent } = await manager.call(name, call("get-structured-content", { location: "Chicago" }));
    expect(structuredContent).toMatchObject({ temperature: expect.any(Number) });

    const steps: number[] = [];
    await manager.call(name, call("trigger-long-running-operation", { duration: 0.03, steps: 3 }), {
      onProgress: ({ progress }) => steps.push(progress),
    });
    expect(steps).toEqual([1, 2, 3]);

    const stop = new AbortController();
    const long = manager.call(name, call("trigger-long-running-operation", { duration: 600, steps: 60_000 }), {
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    await expect(long).rejects.toMatchObject({ code: "CANCELLED" });
    expect(toText(await manager.call(name, call("echo", { message: "again" })))).toMatch(/again/);

    await manager.call(name, call("gzip-file-as-resource", { name: "a.gz", data: "data:text/plain,a" }));
    await expect
      .poll(() => events, { timeout: 5000 })
      .toContainEqual({ kind: "list-changed", list: "resources", server: name });
    const { resources } = await manager.request(name, { method: "resources/list" });
    const [{ uri }] = (resources as { uri: string }[]).filter((resource) => resource.uri.endsWith("a.gz")) as [
      { uri: string },
    ];
    const { contents } = await manager.request(name, { method: "resources/read", params: { uri } });
    expect(contents).toEqual([expect.objectContaining({ uri, mimeType: "application/gzip" })]);

    const { prompts } = await manager.request(name, { method: "prompts/list" });
    expect(prompts).toContainEqual(expect.objectContaining({ name: "args-prompt" }));
    const params = { name: "args-prompt", arguments: { city: "Graz" } };
    const prompt = await manager.request(name, { method: "prompts/get", params });
    expect(JSON.stringify(prompt)).toContain("weather in Graz?");
    expect(manager.list()).toMatchObject([{ state: "ready", failed: 1 }]);
  });
});

type Started = AsyncDisposable & { readonly server: McpServer };

async function startOnStreams(): Promise<Started> {
  return { server: toRealServer("everything", ["stdio"]), [Symbol.asyncDispose]: async () => undefined };
}

async function startOnHttp(): Promise<Started> {
  const port = await findFreePort();
  const env = { PATH: process.env["PATH"], PORT: String(port) };
  const child = spawn(process.execPath, [PROGRAMS.everything, "streamableHttp"], { env });
  child.stdout.resume();
  const exited = once(child, "exit");
  // The server writes to stderr once it listens.
  await once(child.stderr, "data");
  return {
    server: toAddress("everything", `http://127.0.0.1:${port}/mcp`),
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
