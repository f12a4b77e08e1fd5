import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  createCertificateAuthority,
  createInterceptingProxy,
  type CertificateAuthority,
  type InterceptingProxy,
} from "@budgie/testkit";
import { createGitServer } from "../../../../runner-docker/test/proxy/git-server.ts";
import { createPythonIndex } from "../../fixtures/python-index.ts";
import { removeKept } from "../../helpers/engine.ts";
import { createNpmRegistry } from "../../helpers/npm-registry.ts";
import { CALL_VARIABLES, createBudgieUser, TEST_IMAGE, type BudgieUser } from "../../helpers/start-budgie.ts";

/** Python and git */
const PROJECTS_IMAGE = process.env["BUDGIE_TEST_PROJECTS_IMAGE"] ?? "budgie-projects:latest";
const HOSTS = { npm: "registry.test", pip: "index.test", git: "git.test" };

let user: BudgieUser;
let authority: CertificateAuthority;
let proxy: InterceptingProxy;
const servers: AsyncDisposable[] = [];
beforeAll(async () => {
  [user, authority] = await Promise.all([createBudgieUser(), createCertificateAuthority("Corp CA")]);
  const identity = await authority.issue(...Object.values(HOSTS));
  const source = { image: TEST_IMAGE, folder: "/usr/lib/node_modules/npm/node_modules/abbrev", identity };
  const [npm, pip, git] = await Promise.all([
    createNpmRegistry(source),
    createPythonIndex(identity, PROJECTS_IMAGE),
    createGitServer(createRepositories(), identity),
  ]);
  proxy = await createInterceptingProxy(authority, {
    [HOSTS.npm]: npm.port,
    [HOSTS.pip]: pip.port,
    [HOSTS.git]: git.port,
  });
  servers.push(npm, pip, git, proxy);
});
afterAll(async () => {
  await removeKept(user);
  for (const one of [...servers, authority, user]) await one?.[Symbol.asyncDispose]();
});

function createRepositories(): string {
  const folder = join(user.host.home, "published");
  const name = ["-c", "user.name=a", "-c", "user.email=a@b"];
  execFileSync("git", ["init", "-qb", "trunk", join(folder, "code.git")]);
  execFileSync("git", ["-C", join(folder, "code.git"), ...name, "commit", "-qm", "one", "--allow-empty"]);
  return folder;
}

type Program = {
  readonly image: string;
  readonly host: string;
  readonly argv: readonly string[];
  readonly tries: number;
};

const PROGRAMS: Readonly<Record<string, Program>> = {
  "npm install": {
    image: TEST_IMAGE,
    host: HOSTS.npm,
    argv: [
      "npm",
      "install",
      "--prefix",
      "/tmp/n",
      "--no-update-notifier",
      "--registry",
      `https://${HOSTS.npm}/`,
      "abbrev",
    ],
    tries: 3,
  },
  "pip install": {
    image: PROJECTS_IMAGE,
    host: HOSTS.pip,
    argv: ["pip3", "install", "--target", "/tmp/p", "-i", `https://${HOSTS.pip}/simple/`, "birds"],
    // The last one looks for a newer pip.
    tries: 4,
  },
  "git clone": {
    image: PROJECTS_IMAGE,
    host: HOSTS.git,
    argv: ["git", "clone", `https://${HOSTS.git}/code.git`, "/tmp/code"],
    tries: 1,
  },
};

it.each(Object.entries(PROGRAMS))(
  "behind a proxy that inspects TLS, %s works with --ca-file, and else fails after a few tries, and the result says what to type",
  async (_, { argv, host, image, tries }) => {
    const options = ["--sandbox-image", image, "--allow-host", host, "-C", user.workspace];
    const exec = (...more: readonly string[]) =>
      user.run(["exec", ...options, ...more, "shell-worker", "--", ...argv], {
        ...CALL_VARIABLES,
        HTTPS_PROXY: proxy.url,
      });
    const countTries = (): number => proxy.asked.filter((target) => target === `${host}:443`).length;

    const trusting = await exec("--ca-file", authority.file);
    const before = countTries();
    const without = await exec();

    expect(trusting.exitCode, trusting.stderr).toBe(0);
    expect(without.exitCode).toBeGreaterThan(0);
    expect(without.stderr).toContain(`${host}:443 (the program did not accept its certificate, `);
    expect(without.stderr).toContain(
      'If your network inspects TLS, name its certificates with --ca-file; "budgie doctor --sandbox" says whose they are.',
    );
    // Between them npm waits five seconds altogether, and pip half a second.
    expect(before).toBeGreaterThan(0);
    expect(countTries() - before).toBeLessThanOrEqual(tries);
  },
);
