import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { kiroCliPath } from "@budgie/testkit";
import { createBudgieUser } from "../helpers/start-budgie.ts";

describe("a start over HTTP", () => {
  it.each([
    [["--port", "3333"], /^budgie: --port is for --transport http/],
    [["--host", "127.0.0.1"], /^budgie: --host is for --transport http/],
    [["--http-token-file", "x"], /^budgie: --http-token-file is for --transport http/],
    [["--http-allowed-host", "x"], /^budgie: --http-allowed-host is for --transport http/],
    [["--http-allowed-origin", "https://x"], /^budgie: --http-allowed-origin is for --transport http/],
    [["--http-allow-remote"], /^budgie: --http-allow-remote is for --transport http/],
    [["--http-session-ttl", "1m"], /^budgie: --http-session-ttl is for --transport http/],
    [["--transport", "sse"], /^budgie: Expected --transport .* to be "stdio" or "http", got "sse"/],
    [["--transport", "http", "--port", "65536"], /^budgie: Expected --port .* to be a port from 0 to 65535/],
    [["--transport", "http", "--host", "0.0.0.0"], /^budgie: --host "0.0.0.0" lets other machines reach budgie/],
    [["--transport", "http", "--host", "::"], /^budgie: --host "::" lets other machines reach budgie/],
    [["--transport", "http", "--host", "example.com"], /^budgie: --host "example.com" lets other machines/],
    [["--transport", "http", "--host", "0.0.0.0", "--http-allow-remote"], /makes no token of its own/],
    [["--transport", "http", "--http-allowed-origin", "*"], /^budgie: Expected --http-allowed-origin .* an origin/],
    [["--transport", "http", "--http-allowed-origin", "https://x/"], /^budgie: Expected --http-allowed-origin/],
    [["--transport", "http", "--http-session-ttl", "25d"], /^budgie: Expected --http-session-ttl .* to be at most 24d/],
    [["--transport", "http", "--http-session-ttl", "0"], /^budgie: Expected --http-session-ttl .* to be longer than/],
    [["--transport", "http", "--http-allowed-host", "a:80"], /^budgie: Expected --http-allowed-host .* without a port/],
  ])("is refused with %j, and says why", async (argv, message) => {
    await using user = await createBudgieUser();

    const { exitCode, stderr, stdout } = await user.command(["--kiro-binary", kiroCliPath, ...argv]);

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  it("is refused if its port is in use, and prints no token then", async () => {
    await using user = await createBudgieUser();
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const port = String((other.address() as AddressInfo).port);

    const argv = ["--kiro-binary", kiroCliPath, "--transport", "http", "--port", port];
    const { exitCode, stderr } = await user.command(argv);
    other.close();

    expect(exitCode).toBe(2);
    expect(stderr).toMatch(`Cannot listen on port ${port} of "127.0.0.1": something else listens there.`);
    expect(stderr).not.toContain("token");
  });
});
