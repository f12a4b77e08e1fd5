import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer as createSecureServer } from "node:https";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createCertificateAuthority, serveOnLoopback } from "@budgie/testkit";
import { createBudgieUser, TEST_IMAGE, toEngineVariables, type BudgieUser } from "../helpers/start-budgie.ts";
import { listTraces, openEngine } from "../helpers/engine.ts";

const BASE_IMAGE = process.env["BUDGIE_TEST_BASE_IMAGE"] ?? "budgie-base";

/** Creates a build context, as a user would. */
function createContext({ workspace }: BudgieUser, dockerfile: string): string {
  mkdirSync(join(workspace, "docker"));
  writeFileSync(join(workspace, "docker", "greeting"), "hello\n");
  writeFileSync(join(workspace, "secret"), "not for the engine");
  writeFileSync(join(workspace, "Dockerfile"), dockerfile);
  return workspace;
}

/** Creates a server that gives any configured answer. */
async function createServerOfOne() {
  const server = createServer((socket) => socket.once("data", () => socket.end("hello")).on("error", () => undefined));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const close = async (): Promise<void> => {
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  return { port: (server.address() as AddressInfo).port, close, [Symbol.asyncDispose]: close };
}

function toEgress({ stdout }: { readonly stdout: string }): readonly string[] {
  return stdout.split("\n").filter((line) => line.slice(8).startsWith("egress "));
}

describe("budgie build-image", () => {
  it("builds an image with build arguments, and prints its progress", async () => {
    await using user = await createBudgieUser();
    const dockerfile = `FROM ${TEST_IMAGE}\nARG NAME\nCOPY docker/ /greeting/\nRUN echo "built for $NAME" && ls /greeting\n`;
    const context = createContext(user, dockerfile);
    const tag = `budgie-build-test:${process.pid}`;

    try {
      const argv = ["build-image", "--tag", tag, "--context", context, "--build-arg", "NAME=parakeet"];
      const { exitCode, stderr, stdout } = await user.command(argv, toEngineVariables());

      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
      expect(stdout).toContain("\nbuilt for parakeet\ngreeting\n");
      expect(stdout).toMatch(new RegExp(`\nBuilt ${tag} \\(sha256:[0-9a-f]{64}\\)\\.\n$`));
    } finally {
      await (await openEngine()).getImage(tag).remove({ force: true });
    }
  });

  it("says in one line why an image was not built", async () => {
    await using user = await createBudgieUser();
    const context = createContext(user, `FROM ${TEST_IMAGE}\nRUN exit 7\n`);

    const argv = ["build-image", "--tag", "budgie-build-test:never", "--context", context];
    const { exitCode, stderr } = await user.command(argv, toEngineVariables());

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^budgie: The sandbox image was not built: step 2\/2 ended with code: 7\.\n$/);
  });
});

describe("budgie doctor", () => {
  it("finds nothing missing if an agent can run in a sandbox", async () => {
    await using user = await createBudgieUser();

    const { exitCode, stdout } = await user.command(["doctor", "--sandbox-image", TEST_IMAGE], toEngineVariables());

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^ok {6}engine {5}(?:Docker|Podman) \S+, API 1\.\d+, at \S+$/m);
    expect(stdout).toMatch(new RegExp(`^ok {6}image {6}${TEST_IMAGE} \\(sha256:[0-9a-f]{12}\\), built .* ago$`, "m"));
    expect(stdout).toMatch(
      /^ok {6}program {4}"\/usr\/local\/bin\/kiro-cli" in the image, and a \/bin\/sh to start it$/m,
    );
    expect(stdout).toMatch(/^ok {6}limits {5}on memory, processes and processors \(cgroup v\d, \w+\)$/m);
    expect(stdout).toMatch(/^ok {6}seccomp {4}by budgie's own profile$/m);
    expect(await listTraces(user)).toEqual([]);
    expect(/^note {4}caller {5}Root started budgie/m.test(stdout)).toBe(process.getuid?.() === 0);
  });

  it("tests how far a sandbox reaches, and contacts only the first named host", async () => {
    await using user = await createBudgieUser();
    await using server = await createServerOfOne();
    const base = ["doctor", "--sandbox", "--sandbox-image", TEST_IMAGE];
    const allow = ["--allow-host", `allowed.test:${server.port}=127.0.0.1`];

    const named = await user.command([...base, ...allow], toEngineVariables());
    await server.close();
    const gone = await user.command([...base, ...allow], toEngineVariables());
    const unnamed = await user.command(base, toEngineVariables());

    const target = `"allowed.test:${server.port}"`;
    expect(toEgress(named)).toEqual([
      `ok      egress     ${target} is reached from a sandbox`,
      'ok      egress     "not-allowed.invalid:443" is refused, because it is not allowed',
      "ok      egress     no DNS server answers a sandbox",
    ]);
    expect(named.exitCode).toBe(0);
    expect(toEgress(gone).find((line) => line.startsWith("failed"))).toBe(
      `failed  egress     ${target} is allowed (--allow-host), but not reached from a sandbox: it could not be reached`,
    );
    expect(gone.exitCode).toBe(1);
    expect(toEgress(unnamed)[0]).toMatch(/^note {4}egress {5}no allowed host was tried: .* --allow-host q\./);
    expect(unnamed.exitCode).toBe(0);
  });

  it("names the certificates of a network that inspects TLS, and is content with them", async () => {
    await using user = await createBudgieUser();
    await using authority = await createCertificateAuthority("Corp CA");
    await using server = await serveOnLoopback(createSecureServer(await authority.issue("allowed.test")));
    const allow = ["--allow-host", `allowed.test:${server.port}=127.0.0.1`];
    const argv = ["doctor", "--sandbox", "--sandbox-image", TEST_IMAGE, ...allow];

    const without = await user.run(argv, { ...toEngineVariables(), NODE_EXTRA_CA_CERTS: authority.file });
    const trusting = await user.run([...argv, "--ca-file", authority.file], toEngineVariables());

    expect(without.exitCode).toBe(1);
    expect(without.stdout).toContain(
      `failed  egress     "allowed.test:${server.port}" shows a certificate of "Corp CA", which the sandbox does not trust. ` +
        `Add --ca-file "${authority.file}" (NODE_EXTRA_CA_CERTS).\n`,
    );
    expect(without.stdout).toContain(`To do:\n  budgie config set caFile "${authority.file}"\n`);
    expect({ exitCode: trusting.exitCode, failed: /^failed.*/m.exec(trusting.stdout) }).toEqual({
      exitCode: 0,
      failed: null,
    });
  });

  it.each([
    ["none", /^ok {6}egress {5}nothing is allowed \(--egress none\)$/m],
    ["bridge", /^note {4}egress {5}--egress bridge is unsafe/m],
  ])("explains the effect of --egress %s", async (mode, line) => {
    await using user = await createBudgieUser();
    const argv = ["doctor", "--sandbox", "--sandbox-image", TEST_IMAGE, "--egress", mode];

    const { exitCode, stdout } = await user.command(argv, toEngineVariables());

    expect(stdout).toMatch(line);
    expect(exitCode).toBe(0);
  });

  it("reports a missing image", async () => {
    await using user = await createBudgieUser();

    const argv = ["doctor", "--sandbox-image", "budgie-no-such-image"];
    const { exitCode, stdout } = await user.command(argv, toEngineVariables());

    expect(exitCode).toBe(3);
    expect(stdout).toMatch(/^failed {2}image {6}The sandbox image "budgie-no-such-image" is not on the engine\./m);
  });

  it.each([
    [BASE_IMAGE, [], /^failed {2}program {4}The image has no "kiro-cli" on its PATH, \/usr/m],
    [TEST_IMAGE, ["--sandbox", "--kiro-binary", "kiro-cli-next"], /^failed {2}program {4}.*"kiro-cli-next"/m],
    [TEST_IMAGE, ["--kiro-binary", "/opt/of-the-host"], /^ok {6}program {4}"\/usr\/local\/bin\/kiro-cli"/m],
  ])("searches %s for the program that the options %j name", async (image, argv, line) => {
    await using user = await createBudgieUser();

    const { exitCode, stdout } = await user.command(["doctor", "--sandbox-image", image, ...argv], toEngineVariables());

    expect(stdout).toMatch(line);
    expect(exitCode).toBe(/^failed/m.test(stdout) ? 1 : 0);
    expect(await listTraces(user)).toEqual([]);
  });
});
