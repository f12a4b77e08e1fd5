import { execFile } from "node:child_process";
import { existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CERTIFICATE_REFUSED, createSessionId, type Projection } from "@budgie/core";
import { createCertificateAuthority, type CertificateAuthority } from "@budgie/testkit";
import { createDockerPlace, KIRO_IMAGE } from "../helpers/docker-place.ts";
import { pinned, runWatched } from "../turn/run-watched.ts";
import { createFolderServer, type RecordingServer } from "./folder-server.ts";

const HOST = "inspected.test";

const place = createDockerPlace();
const published = join(place.root, "published");
let authority: CertificateAuthority;
let server: RecordingServer;
let java: Tool;
let python: Tool;
beforeAll(async () => {
  authority = await createCertificateAuthority();
  mkdirSync(published);
  server = await createFolderServer(published, await authority.issue(HOST));
  [java, python] = await Promise.all([findJava(), findPython()]);
  writeFileSync(join(published, "page"), "from the web");
  writeFileSync(join(place.workspace, "Get.java"), GET);
  await run("javac", ["--release", "17", "Get.java"], { cwd: place.workspace });
  await run("python3", ["-c", WHEEL, join(published, "tiny-1.0-py3-none-any.whl")]);
});
afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await authority[Symbol.asyncDispose]();
});

const run = promisify(execFile);

const GET = `public class Get {
  public static void main(String[] urls) throws Exception {
    try (var stream = new java.net.URI(urls[0]).toURL().openStream()) { System.out.write(stream.readAllBytes()); }
    System.out.flush();
  }
}`;

const WHEEL = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
  wheel.writestr("tiny.py", "print('from pip')")
  wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
  wheel.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
  wheel.writestr("tiny-1.0.dist-info/RECORD", "")
`;

/** A program of this machine, with the files that it needs in a sandbox. */
type Tool = { readonly program: string; readonly projections: readonly Projection[] };

async function findJava(): Promise<Tool> {
  const { stderr } = await run("java", ["-XshowSettings:properties", "-version"]);
  const home = /java\.home = (.*)/.exec(stderr)?.[1] ?? "";
  // Debian's has its settings elsewhere.
  const settings = dirname(realpathSync(join(home, "conf/security/java.security")));
  return { program: join(home, "bin/java"), projections: toProjections([home, dirname(settings)]) };
}

async function findPython(): Promise<Tool> {
  const script = `
import os, pip, sys, sysconfig
library = os.path.join(*(sysconfig.get_config_var(name) or "" for name in ("LIBDIR", "INSTSONAME")))
print(sys.executable, library, sysconfig.get_path("stdlib"), os.path.dirname(os.path.dirname(pip.__file__)), sep="\\n")`;
  const { stdout } = await run("python3", ["-c", script]);
  const [program = "", ...folders] = stdout.trim().split("\n");
  return { program: realpathSync(program), projections: toProjections([realpathSync(program), ...folders]) };
}

function toProjections(paths: readonly string[]): readonly Projection[] {
  const outer = [...new Set(paths)].filter(
    (path) => !paths.some((other) => path !== other && path.startsWith(`${other}/`)),
  );
  return outer.filter((path) => existsSync(path)).map((source) => ({ source, home: undefined }));
}

const TOOLS: Readonly<Record<string, { readonly find: () => Tool; readonly script: string; readonly prints: string }>> =
  {
    java: { find: () => java, script: '"$PROGRAM" -cp /workspace Get "$URL/page"', prints: "from the web" },
    "python's urllib": {
      find: () => python,
      script: `"$PROGRAM" -c 'import os, urllib.request as r; print(r.urlopen(os.environ["URL"] + "/page").read().decode())'`,
      prints: "from the web",
    },
    pip: {
      find: () => python,
      script: `cd /tmp && "$PROGRAM" -m pip --disable-pip-version-check install --quiet --target t "$URL/tiny-1.0-py3-none-any.whl" >&2 &&
      PYTHONPATH=t "$PROGRAM" -c 'import tiny'`,
      prints: "from pip",
    },
  };

async function runTool(name: string, caFile: string | undefined) {
  const tool = TOOLS[name];
  if (tool === undefined) throw new Error(name);
  const { runner } = await place.createRunner({ image: KIRO_IMAGE, caFile });
  const session = await runner.openSession(createSessionId());
  const { program, projections } = tool.find();
  const env = { URL: `https://${HOST}:${server.port}`, PROGRAM: program };
  const command = { argv: ["sh", "-c", tool.script] as const, env, projections };
  return runWatched(session, command, { directory: place.workspace, hosts: [pinned(HOST, server.port)] });
}

describe.each(Object.keys(TOOLS))("behind an authority of the network's own, %s", (name) => {
  it("fetches with --ca-file", async () => {
    const { exit, stderr, stdout } = await runTool(name, authority.file);

    expect({ stdout: stdout.trim(), exitCode: exit.exitCode }, stderr).toEqual({
      stdout: TOOLS[name]?.prints,
      exitCode: 0,
    });
  });

  it("fails without it, and the report says why", async () => {
    const { egress, exit } = await runTool(name, undefined);

    expect(exit.exitCode).not.toBe(0);
    expect(egress.failed).toEqual([
      { host: HOST, port: server.port, count: expect.any(Number), why: CERTIFICATE_REFUSED },
    ]);
  });
});
