import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { createFakeEngine, type FakeEngine } from "../../../runner-docker/test/helpers/fake-engine.ts";
import { runBuildImage } from "../../src/commands/run-build-image.ts";
import { toSilentHost } from "../helpers/to-silent-host.ts";
import { createInstallUser } from "./install/create-install-user.ts";
import { createBudgieUser } from "../helpers/start-budgie.ts";

describe("budgie build-image", () => {
  it("fails with exit code 1 if the engine does not build the image, and says why in one line", async () => {
    await using user = await createBudgieUser();
    const refusal = { status: 400, body: { message: "unknown instruction:\u001b[2J NONSENSE" } };
    await using engine = await createFakeEngine({
      "GET /version": { ApiVersion: "1.41" },
      "GET /info": {},
      "POST /build": [refusal],
    });

    const finished = await user.command(["build-image"], engine.hostEnv);

    expect(finished).toMatchObject({ exitCode: 1, stdout: "" });
    expect(finished.stderr).toMatch(
      /^budgie: The sandbox image was not built: .*unknown instruction:\S+ NONSENSE\s*\n$/,
    );
    expect(finished.stderr).not.toContain("\u001b");
  });

  it.each([
    [["--with", "nonsense"], 'There is no preset "nonsense". Presets: codex, '],
    [["--with", "kiro-acp"], 'The program of "kiro-acp" is no package of npm. '],
    [["--with", "qwen", "--context", "."], 'Dockerfile" takes no build argument NPM_PACKAGES, which --with needs.'],
  ])("refuses %j before it asks an engine", async (words, message) => {
    using user = createInstallUser();
    user.write(join(user.project, "Dockerfile"), "FROM scratch\n");

    await expect(user.run(["build-image", ...words])).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(message),
    });
  });

  it.each([
    [["Dockerfile"], "Dockerfile"],
    [["Dockerfile.sandbox"], "Dockerfile.sandbox"],
    [["Dockerfile", "Dockerfile.sandbox"], "Dockerfile.sandbox"],
  ])("builds, of a context with %j, %s", async (names, built) => {
    await using user = await createBudgieUser();
    await using engine = await createRefusingEngine();
    for (const name of names) writeFileSync(join(user.workspace, name), "FROM scratch\n");

    await user.command(["build-image", "--context", user.workspace], engine.hostEnv);

    expect(toBuildQuery(engine).get("dockerfile")).toBe(built);
  });

  it("keeps steps and notes on a terminal, and shows the rest in one line", async () => {
    await using user = await createBudgieUser();
    const stdout = new PassThrough();
    await using engine = await createFakeEngine({
      "GET /version": { ApiVersion: "1.41" },
      "GET /info": {},
      "POST /build": { stream: "Step 1/2 : RUN true\nmuch output\nNote: no V3\nStep 2/2 : RUN true\nmore\n" },
      "GET /images/own/json": { Id: "sha256:abc" },
    });
    const { home } = user.host;
    const host = toSilentHost({ cwd: home, home, env: engine.hostEnv, stdout, columns: 80 });

    await runBuildImage(OWN, host);

    const shown = String(stdout.read())
      .split("\n")
      .map((line) => line.split("\u001B[2K").at(-1));
    expect(shown).toEqual(["Step 1/2 : RUN true", "Note: no V3", "Step 2/2 : RUN true", "Built own (sha256:abc).", ""]);
  });

  it("cuts a step's script to the width of a terminal, and prints the end of the step that failed", async () => {
    await using user = await createBudgieUser();
    const stdout = new PassThrough();
    const stream = `Step 1/2 : ARG A\nStep 2/2 : RUN ${"true; ".repeat(50)}\nfirst\n(Reading ... 5%\r50%\ncurl: (6) Could not resolve host\n`;
    await using engine = await createFakeEngine({
      "GET /version": { ApiVersion: "1.41" },
      "GET /info": {},
      "POST /build": { stream, error: "The command '/bin/sh -c true' returned a non-zero code: 6" },
    });
    const { home } = user.host;
    const host = toSilentHost({ cwd: home, home, env: engine.hostEnv, stdout, columns: 40 });

    await runBuildImage(OWN, host);

    const shown = String(stdout.read())
      .split("\n")
      .map((line) => line.split("\u001B[2K").at(-1));
    expect(shown).toEqual([
      "Step 1/2 : ARG A",
      "Step 2/2 : RUN true; true; true; true;…",
      "  first",
      "  curl: (6) Could not resolve host",
      "",
    ]);
    expect(shown[1]).toHaveLength(39);
  });

  it("prints plain text into a pipe, and names the step that failed in place of its script", async () => {
    await using user = await createBudgieUser();
    const stream = "Step 1/2 : RUN very long\n\u001b[31mred\u001b[0m\n10%\r100%\n";
    const error = `The command '/bin/sh -c ${"very long; ".repeat(100)}' returned a non-zero code: 3`;
    await using engine = await createFakeEngine({
      "GET /version": { ApiVersion: "1.41" },
      "GET /info": {},
      "POST /build": { stream, error },
    });

    const finished = await user.command(["build-image"], engine.hostEnv);

    expect(finished).toMatchObject({
      exitCode: 1,
      stdout: "Step 1/2 : RUN very long\nred\n10%\n100%\n",
      stderr: "budgie: The sandbox image was not built: step 1/2 ended with code: 3.\n",
    });
  });

  it("sends the certificates of --ca-file with the build, and names them to the Dockerfile's arguments", async () => {
    await using user = await createBudgieUser();
    await using engine = await createRefusingEngine();
    const file = join(user.host.home, "corp.pem");
    writeFileSync(file, "-----BEGIN CERTIFICATE-----\n");

    await user.command(["build-image", "--ca-file", file, "--build-arg", "SSL_CERT_FILE=/own"], engine.hostEnv);

    expect(JSON.parse(toBuildQuery(engine).get("buildargs") ?? "")).toEqual({
      APT_CONFIG: "/context/ca.apt.conf",
      CURL_CA_BUNDLE: "/context/ca.pem",
      NODE_EXTRA_CA_CERTS: "/context/ca.pem",
      SSL_CERT_FILE: "/own",
    });
  });

  it("asks for the packages of presets, on a base with npm, in the network that was named", async () => {
    await using user = await createBudgieUser();
    await using engine = await createRefusingEngine();

    await user.command(
      ["build-image", "--with", "codex,qwen", "--network", "host", "--build-arg", "NPM_PACKAGES=is-odd@3.0.1"],
      engine.hostEnv,
    );

    const query = toBuildQuery(engine);
    expect(query.get("networkmode")).toBe("host");
    expect(JSON.parse(query.get("buildargs") ?? "")).toEqual({
      BASE_IMAGE: "node:22-bookworm-slim",
      NPM_PACKAGES: "@zed-industries/codex-acp@0.16.0 @qwen-code/qwen-code@0.15.10 is-odd@3.0.1",
    });
  });
});

const OWN = { tag: "own", buildArgs: [], context: undefined, presets: [], network: undefined, caFile: undefined };

/** Creates an engine that records a build's options, and builds nothing. */
function createRefusingEngine(): Promise<FakeEngine> {
  const refusal = { status: 400, body: { message: "no" } };
  return createFakeEngine({ "GET /version": { ApiVersion: "1.41" }, "GET /info": {}, "POST /build": [refusal] });
}

function toBuildQuery({ requests }: FakeEngine): URLSearchParams {
  const build = requests.find((request) => request.startsWith("POST /build?")) ?? "";
  return new URLSearchParams(build.slice(build.indexOf("?")));
}
