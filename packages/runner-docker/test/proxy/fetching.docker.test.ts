import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CERTIFICATE_REFUSED, createSessionId, type RunnerSession } from "@budgie/core";
import { createCertificateAuthority, type CertificateAuthority } from "@budgie/testkit";
import { createAptSigner, type AptSigner } from "./apt-signer.ts";
import { createDockerPlace, KIRO_IMAGE } from "../helpers/docker-place.ts";
import { createFolderServer, type RecordingServer } from "./folder-server.ts";
import { createGitServer } from "./git-server.ts";
import { publish, publishToNpm } from "./publish.ts";
import { pinned, runWatched } from "../turn/run-watched.ts";

type Fetching = {
  readonly host: string;
  readonly server: "http" | "https" | "git";
  /** Fetches something below `$URL` in an empty folder, and prints it */
  readonly script: string;
  /** The program's last output */
  readonly prints: string;
  /** A request that its server must get */
  readonly asks: readonly string[];
  /** Its output after a refusal */
  readonly shows: RegExp;
};

const NO_TUNNEL = /CONNECT tunnel failed, response 403/;
const REASON = /403\W+Refused by budgie egress policy/;

const PROGRAMS: Readonly<Record<string, Fetching>> = {
  "curl over http": {
    host: "web.test",
    server: "http",
    script: 'curl --silent --show-error --fail-with-body "$URL/page"',
    prints: "from the web",
    asks: ["GET /page"],
    shows: /budgie's egress policy refused web\.test:\d+: not on the allow-list\./,
  },
  "curl over https": {
    host: "web.test",
    server: "https",
    script: 'curl --silent --show-error "$URL/page"',
    prints: "from the web",
    asks: ["GET /page"],
    shows: NO_TUNNEL,
  },
  "git clone over https": {
    host: "git.test",
    server: "git",
    script: 'git clone --quiet "$URL/code.git" code && cat code/README',
    prints: "from git",
    asks: ["GET /code.git/info/refs?service=git-upload-pack", "POST /code.git/git-upload-pack"],
    shows: NO_TUNNEL,
  },
  "git push over https": {
    host: "git.test",
    server: "git",
    script: `
      git init --quiet && echo "from here" >NOTE && git add NOTE &&
        git -c user.name=nobody -c user.email=nobody@git.test commit --quiet --message note &&
        git push --quiet "$URL/code.git" HEAD:refs/heads/pushed &&
        git ls-remote "$URL/code.git" refs/heads/pushed | cut --fields 2`,
    prints: "refs/heads/pushed",
    asks: ["GET /code.git/info/refs?service=git-receive-pack", "POST /code.git/git-receive-pack"],
    shows: NO_TUNNEL,
  },
  npm: {
    host: "npm.test",
    server: "https",
    script: `npm install --loglevel error --fetch-retries 0 --registry "$URL/npm/" tiny && node -p 'require("tiny")'`,
    prints: "from npm",
    asks: ["GET /npm/tiny", "GET /npm/tiny-1.0.0.tgz"],
    shows: REASON,
  },
  apt: {
    host: "apt.test",
    server: "http",
    // A sandbox's user cannot write to the usual folders, so packages are installed below this one.
    script: `
      mkdir -p lists/partial archives/partial var/lib/dpkg/info var/lib/dpkg/updates
      echo "deb [signed-by=/workspace/apt.asc] $URL/apt/ ./" >sources
      : >var/lib/dpkg/status
      set -- -o Dir::State="$PWD" -o Dir::Cache="$PWD" -o Dir::Log="$PWD" -o Dir::State::status="$PWD/var/lib/dpkg/status" \\
        -o Dir::Etc::SourceList="$PWD/sources" -o Dir::Etc::SourceParts=/dev/null \\
        -o DPkg::Options::=--root="$PWD" -o DPkg::Options::=--force-not-root
      apt-get "$@" --error-on=any update && apt-get "$@" --yes install tiny && cat opt/tiny`,
    prints: "from apt",
    asks: ["GET /apt/./InRelease", "GET /apt/./tiny.deb"],
    shows: REASON,
  },
};

const place = createDockerPlace();
const published = join(place.root, "published");
let authority: CertificateAuthority;
let signer: AptSigner;
let servers: Readonly<Record<Fetching["server"], RecordingServer>>;
let session: RunnerSession;
beforeAll(async () => {
  authority = await createCertificateAuthority();
  const identity = await authority.issue("web.test", "git.test", "npm.test");
  await mkdir(published);
  servers = {
    http: await createFolderServer(published),
    https: await createFolderServer(published, identity),
    git: await createGitServer(join(published, "git"), identity),
  };
  session = await openSession(authority.file);
  await publish(session, published);
  signer = await createAptSigner();
  await signer.sign(join(published, "apt"));
  await writeFile(join(place.workspace, "apt.asc"), signer.publicKey);
  await publishToNpm(published, `https://npm.test:${servers.https.port}/npm/`);
});
afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await Promise.all(Object.values(servers).map((server) => server[Symbol.asyncDispose]()));
  await authority[Symbol.asyncDispose]();
});

async function openSession(caFile: string | undefined): Promise<RunnerSession> {
  const { runner } = await place.createRunner({ image: KIRO_IMAGE, caFile });
  return runner.openSession(createSessionId());
}

async function fetchWith({ host, script, server }: Fetching, allowed: string, from = session) {
  const { port, requests } = servers[server];
  const before = requests.length;
  const argv = ["sh", "-c", `cd "$(mktemp -d)"; ${script}`] as const;
  const scheme = server === "http" ? "http" : "https";
  const command = { argv, env: { URL: `${scheme}://${host}:${port}` } };
  const turn = await runWatched(from, command, { directory: place.workspace, hosts: [pinned(allowed, port)] });
  const asked = requests.slice(before);
  return { ...turn, port, asked, lastLine: turn.stdout.trimEnd().split("\n").at(-1) };
}

describe.each(Object.entries(PROGRAMS))("%s", (_, program) => {
  const { asks, host, prints, shows } = program;

  it("fetches from a host on the allow-list", async () => {
    const { asked, egress, exit, lastLine, port, stderr } = await fetchWith(program, host);

    expect({ lastLine, exitCode: exit.exitCode }, stderr).toEqual({ lastLine: prints, exitCode: 0 });
    expect(asked).toEqual(expect.arrayContaining([...asks]));
    expect(egress).toEqual({ allowed: [{ host, port, count: expect.any(Number) }], denied: [] });
  });

  it("fails if its host is not on it, and shows the refusal", async () => {
    const { asked, egress, exit, port, stderr, stdout } = await fetchWith(program, "other.test");

    expect(exit.exitCode).not.toBe(0);
    expect(stdout + stderr).toMatch(shows);
    expect(asked).toEqual([]);
    expect(egress).toEqual({
      allowed: [],
      denied: [{ host, port, count: expect.any(Number), why: "not on the allow-list" }],
    });
  });
});

const SECURE = Object.entries(PROGRAMS).filter(([, { server }]) => server !== "http");

it.each(SECURE)("%s fails without its host's certificate authority, and the report says so", async (_, program) => {
  const { asked, egress, exit, port } = await fetchWith(program, program.host, await openSession(undefined));

  expect(exit.exitCode).not.toBe(0);
  expect(asked).toEqual([]);
  const failed = { host: program.host, port, count: expect.any(Number), why: CERTIFICATE_REFUSED };
  expect(egress?.failed).toEqual([failed]);
});

const CURT = SECURE.filter(([, { shows }]) => shows === NO_TUNNEL);

it.each(CURT)("%s shows the reason for the refusal in verbose mode", async (_, program) => {
  const talkative = `export GIT_CURL_VERBOSE=1; curl() { command curl --verbose "$@"; }; ${program.script}`;
  const { stderr } = await fetchWith({ ...program, script: talkative }, "other.test");

  expect(stderr).toMatch(REASON);
});

it("apt accepts no package list with another signature than the trusted one", async () => {
  const program = PROGRAMS["apt"];
  if (program === undefined) throw new Error("There is no apt.");
  const another = await createAptSigner();
  await another.sign(join(published, "apt"));
  const { asked, exit, stderr, stdout } = await fetchWith(program, program.host);
  await signer.sign(join(published, "apt"));

  expect(exit.exitCode).not.toBe(0);
  expect(stdout + stderr).toContain("NO_PUBKEY");
  expect(asked).toContain("GET /apt/./InRelease");
  expect(asked).not.toContain("GET /apt/./tiny.deb");
});
