import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionId, type RunnerSession } from "@budgie/core";
import { createCertificateAuthority, type CertificateAuthority } from "@budgie/testkit";
import { createDockerPlace } from "./docker-place.ts";
import { createFolderServer, type FolderServer } from "./folder-server.ts";
import { publish, publishToNpm } from "./publish.ts";
import { pinned, PROGRAMS_IMAGE, runWatched } from "./run-watched.ts";

type Fetching = {
  readonly host: string;
  readonly scheme: "http" | "https";
  /** Fetches something in an empty folder from below `$URL`, and prints what it got */
  readonly script: string;
  /** What the program prints last */
  readonly prints: string;
  /** What it shows of a refusal */
  readonly shows: RegExp;
};

const REASON = /403\W+Refused by budgie egress policy/;

const PROGRAMS: Readonly<Record<string, Fetching>> = {
  "curl over http": {
    host: "web.test",
    scheme: "http",
    script: 'curl --silent --show-error --fail-with-body "$URL/page"',
    prints: "from the web",
    shows: /budgie's egress policy refused web\.test:\d+: not on the allow-list\./,
  },
  "curl over https": {
    host: "web.test",
    scheme: "https",
    script: 'curl --silent --show-error "$URL/page"',
    prints: "from the web",
    shows: /CONNECT tunnel failed, response 403/,
  },
  "git over https": {
    host: "git.test",
    scheme: "https",
    script: 'git clone --quiet "$URL/git/code.git" code && cat code/README',
    prints: "from git",
    shows: /CONNECT tunnel failed, response 403/,
  },
  npm: {
    host: "npm.test",
    scheme: "https",
    script: `npm install --loglevel error --fetch-retries 0 --registry "$URL/npm/" tiny && node -p 'require("tiny")'`,
    prints: "from npm",
    shows: REASON,
  },
  apt: {
    host: "apt.test",
    scheme: "http",
    // A sandbox's user may write to none of the usual places.
    script: `
      mkdir -p "$HOME/apt/lists/partial" "$HOME/apt/archives/partial"
      echo "deb [trusted=yes] $URL/apt/ ./" >"$HOME/apt/sources"
      set -- -o Dir::State="$HOME/apt" -o Dir::Cache="$HOME/apt" -o Dir::State::status=/var/lib/dpkg/status \\
        -o Dir::Etc::SourceList="$HOME/apt/sources" -o Dir::Etc::SourceParts=/dev/null
      apt-get "$@" --error-on=any update && apt-get "$@" download tiny &&
        dpkg-deb --fsys-tarfile tiny_1.0_all.deb | tar --extract --to-stdout ./opt/tiny`,
    prints: "from apt",
    shows: REASON,
  },
};

const place = createDockerPlace();
const published = join(place.root, "published");
let authority: CertificateAuthority;
let servers: Readonly<Record<Fetching["scheme"], FolderServer>>;
let session: RunnerSession;
beforeAll(async () => {
  authority = await createCertificateAuthority();
  const identity = await authority.issue("web.test", "git.test", "npm.test");
  await mkdir(published);
  servers = { http: await createFolderServer(published), https: await createFolderServer(published, identity) };
  session = await openSession(authority.file);
  await publish(session, published);
  await publishToNpm(published, `https://npm.test:${servers.https.port}/npm/`);
});
afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await Promise.all(Object.values(servers).map((server) => server[Symbol.asyncDispose]()));
  await authority[Symbol.asyncDispose]();
});

async function openSession(caFile: string | undefined): Promise<RunnerSession> {
  const { runner } = await place.createRunner({ image: PROGRAMS_IMAGE, caFile });
  return runner.openSession(createSessionId());
}

async function fetchWith({ host, scheme, script }: Fetching, allowed: string, from = session) {
  const { port } = servers[scheme];
  const before = servers[scheme].requests.length;
  const argv = ["sh", "-c", `cd "$(mktemp -d)"; ${script}`] as const;
  const command = { argv, env: { URL: `${scheme}://${host}:${port}` } };
  const turn = await runWatched(from, command, { directory: place.workspace, hosts: [pinned(allowed, port)] });
  const asked = servers[scheme].requests.slice(before);
  return { ...turn, port, asked, lastLine: turn.stdout.trimEnd().split("\n").at(-1) };
}

describe.each(Object.entries(PROGRAMS))("%s", (_, program) => {
  const { host, prints, shows } = program;

  it("fetches from a host on the allow-list", async () => {
    const { egress, exit, lastLine, port, stderr } = await fetchWith(program, host);

    expect({ lastLine, exitCode: exit.exitCode }, stderr).toEqual({ lastLine: prints, exitCode: 0 });
    expect(egress).toEqual({ allowed: [{ host, port, count: expect.any(Number) }], denied: [] });
  });

  it("fails where its host is not on it, and says that it was refused", async () => {
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

const SECURE = Object.entries(PROGRAMS).filter(([, { scheme }]) => scheme === "https");

it.each(SECURE)("%s fails where it was not told who vouches for its host", async (_, program) => {
  const { asked, exit } = await fetchWith(program, program.host, await openSession(undefined));

  expect(exit.exitCode).not.toBe(0);
  expect(asked).toEqual([]);
});
