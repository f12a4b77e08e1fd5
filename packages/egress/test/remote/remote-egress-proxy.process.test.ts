import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import type { Readable, Writable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadProxyProgram } from "../../src/remote/load-proxy-program.ts";
import { createRemoteEgressProxy } from "../../src/remote/remote-egress-proxy.ts";
import { createOrigin, exchange, toPolicy, type Origin } from "../helpers/proxy-place.ts";

let directory: string;
let origin: Origin;
let child: ChildProcessByStdio<Writable, Readable, Readable>;
let errors: Promise<string>;

// Runs only the files that a container gets, outside any package, with node and an empty environment.
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "budgie-remote-"));
  const program = await loadProxyProgram();
  for (const { content, path } of program.files) {
    await mkdir(join(directory, dirname(path)), { recursive: true });
    await writeFile(join(directory, path), content);
  }
  child = spawn(process.execPath, [program.entry], { cwd: directory, env: {}, stdio: ["pipe", "pipe", "pipe"] });
  errors = text(child.stderr);
  origin = await createOrigin((socket) => {
    socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  });
});

afterEach(async () => {
  child.kill("SIGKILL");
  await origin.close();
  await rm(directory, { recursive: true });
});

const ask = (socketPath: string, host: string): Promise<string> =>
  exchange(socketPath, `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`);

describe("the proxy in a process of its own", () => {
  it("works like a proxy in this process", async () => {
    const host = `allowed.test:${origin.port}`;
    const proxy = await createRemoteEgressProxy(child, { limits: { headerMs: 5_000 } });
    const [one, two] = [join(directory, "1.sock"), join(directory, "2.sock")];
    const session = await proxy.open({ socketPath: one });
    const other = await proxy.open({ socketPath: two });
    await session.setPolicy(toPolicy("allowlist", `${host}=127.0.0.1`));

    expect(await ask(one, host)).toMatch(/^HTTP\/1\.1 200 OK.*ok$/s);
    expect(await ask(two, host)).toMatch(/^HTTP\/1\.1 403 /);
    expect(await session.take()).toEqual({
      allowed: [{ host: "allowed.test", port: origin.port, count: 1 }],
      denied: [],
    });
    expect(await other.take()).toEqual({
      allowed: [],
      denied: [{ host: "allowed.test", port: origin.port, count: 1, why: "no network is allowed" }],
    });

    await session.close();
    await expect(stat(one)).rejects.toThrow("ENOENT");
    await proxy.close();
    if (child.exitCode === null) await once(child, "exit");
    expect(child.exitCode).toBe(0);
    expect(await errors).toBe("");
    await expect(stat(two)).rejects.toThrow("ENOENT");
  });

  it("reports a failure, and continues", async () => {
    const proxy = await createRemoteEgressProxy(child);

    await expect(proxy.open({ socketPath: join(directory, "none", "p.sock") })).rejects.toThrow(/ENOENT|EACCES/);
    await expect(proxy.open({ socketPath: join(directory, "p.sock") })).resolves.toBeDefined();
  });

  it("rejects pending requests when its process dies", async () => {
    const proxy = await createRemoteEgressProxy(child);
    const session = await proxy.open({ socketPath: join(directory, "p.sock") });
    child.kill("SIGKILL");

    await expect(Promise.all([session.take(), session.take()])).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
    await once(child, "close");
    await expect(session.setPolicy(toPolicy("none"))).rejects.toMatchObject({ code: "RUNNER_UNAVAILABLE" });
    await proxy.close();
  });

  it("gets the upstream proxy's credentials on stdin, not in arguments or variables", async () => {
    const proxy = await createRemoteEgressProxy(child, { upstream: { url: "http://user:secret@127.0.0.1:1" } });
    await proxy.open({ socketPath: join(directory, "p.sock") });

    expect(child.spawnargs.join(" ")).not.toContain("secret");
    await expect(createRemoteEgressProxy(child, { upstream: { url: "no-url-with-secret" } })).rejects.toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("secret") }),
    );
  });
});
