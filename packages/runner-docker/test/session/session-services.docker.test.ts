import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionId, type Runner, type RunnerSession } from "@budgie/core";
import type { EgressPolicy } from "@budgie/core/egress";
import type { Service } from "@budgie/core/policy";
import { BASE_IMAGE, createDockerPlace, runCommand, testEngine } from "../helpers/docker-place.ts";

const place = createDockerPlace();
let runner: Runner;
let session: RunnerSession;
beforeAll(async () => {
  ({ runner } = await place.createRunner());
  session = await runner.openSession(createSessionId());
});
afterAll(async () => place[Symbol.asyncDispose]());

// Says a word, and with "count" how often it was asked.
const SERVER = `use Socket; socket(my $server, PF_INET, SOCK_STREAM, 0); setsockopt($server, SOL_SOCKET, SO_REUSEADDR, 1);
  bind($server, pack_sockaddr_in($ENV{PORT}, INADDR_LOOPBACK)) or die "bind: $!"; listen($server, 9);
  open(my $sign, ">", "/tmp/listens"); my $count = 0;
  while (accept(my $peer, $server)) { $count++; my $asked = <$peer>; print $peer "$ENV{WORD} $count ", $asked; close $peer }`;

const toService = (name: string, port: number, change: Partial<Service> = {}): Service => ({
  name,
  port,
  image: BASE_IMAGE,
  env: { WORD: `i-am-${name}`, PORT: `${port}` },
  command: ["perl", "-e", SERVER],
  ready: ["test", "-e", "/tmp/listens"],
  ...change,
});

const ASK = `ask() { perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(PeerAddr => "$ARGV[0]:$ARGV[1]", Timeout => 5) or die "$!\\n"; print $s "hello\\n"; print <$s>' "$@" 2>&1; };`;

type Running = { readonly services?: readonly Service[]; readonly egress?: EgressPolicy; readonly of?: RunnerSession };

async function run(script: string, { egress = { mode: "none", hosts: [] }, of = session, services }: Running = {}) {
  const argv = ["/bin/sh", "-c", `${ASK} ${script}`] as const;
  const access = { workspace: "rw", egress, limits: {} } as const;
  const command = { argv, env: {}, projections: [], services };
  const { exit, stderr, stdout } = await runCommand(of, command, { directory: place.workspace, access });
  return { exitCode: exit.exitCode, said: `${stdout}${stderr}` };
}

async function listServices(id = session.id) {
  const label = [`dev.budgie.session=${id}`, "dev.budgie.role=service"];
  return (await testEngine()).listContainers({ all: true, filters: { label } });
}

describe("the services of a session", () => {
  it.each([["none"], ["allowlist"], ["bridge"]] as const)(
    "are reached by name with egress %s, two of them on one port, and stay between turns",
    async (mode) => {
      const services = [toService("db", 5432), toService("cache", 5432)];
      const of = await runner.openSession(createSessionId());

      const first = await run("ask db 5432; ask cache 5432; ask cache 5432", {
        services,
        of,
        egress: { mode, hosts: [] },
      });
      const second = await run("ask db 5432", { services, of, egress: { mode, hosts: [] } });

      expect(first.said).toBe("i-am-db 1 hello\ni-am-cache 1 hello\ni-am-cache 2 hello\n");
      expect(second.said).toBe("i-am-db 2 hello\n");
      await of.remove();
      expect(await listServices(of.id)).toEqual([]);
    },
  );

  it("have no network, no capability and no other user's files, and the session's proxy is out of their reach", async () => {
    const facts = `grep -E '^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp:)' /proc/self/status; ls /sys/class/net; ls -A /run /home /workspace 2>&1; touch /x 2>&1`;
    const server = `my $facts = \`${facts}\`; $ENV{WORD} = $facts; ${SERVER}`;
    const services = [toService("db", 5432, { command: ["perl", "-e", server] })];

    const { said } = await run("ask db 5432", { services, egress: { mode: "allowlist", hosts: [] } });

    expect(said).toMatch(/^Uid:\t65534\t65534/m);
    expect(said).toMatch(/^CapEff:\t0{16}\nCapBnd:\t0{16}\nNoNewPrivs:\t1\nSeccomp:\t2\nlo\n/m);
    expect(said).toContain("Read-only file system");
    expect(said).toMatch(/\/run:\nbudgie-services\n/);
    expect(said).toContain("'/workspace': No such file");
  });

  it("cannot be changed by an agent, and an agent of another session does not reach them", async () => {
    const services = [toService("db", 5432)];
    const other = await runner.openSession(createSessionId());

    const own = await run("cd /run/budgie-services; rm -f db/s; echo >db/x; echo >forwarder; ask db 5432", {
      services,
    });
    const foreign = await run("ls -A /run; ask db 5432; ask 127.0.1.1 5432", { of: other });

    expect(own.said).toContain("Read-only file system");
    expect(own.said).toMatch(/i-am-db \d+ hello/);
    expect(foreign.said).not.toContain("i-am-db");
    expect(foreign.said).toContain("Connection refused");
    await other.remove();
  });

  it("leave nothing in their folder on this machine but the socket", async () => {
    const server = SERVER.replace(
      "$count++;",
      "$count++; $ENV{WORD} = `echo x 2>&1 >/run/budgie-services/x; ls -A /run/budgie-services`;",
    );
    const services = [toService("db", 5432, { command: ["perl", "-e", server] })];
    const of = await runner.openSession(createSessionId());

    const { said } = await run("ask db 5432", { of, services });

    expect(said).toMatch(/Permission denied\ns\n 1 hello/);
    await of.remove();
  });

  it("are started again once they have ended", async () => {
    const services = [toService("db", 5432)];
    await run("ask db 5432", { services });
    const [before] = await listServices();
    await (await testEngine()).getContainer(before?.Id ?? "").kill();

    expect((await run("ask db 5432", { services })).said).toBe("i-am-db 1 hello\n");
  });

  it.each([
    [
      "ends at once",
      { command: ["sh", "-c", "echo out of birds >&2; exit 3"] },
      /ended with exit code 3\. It said: "out of birds"/,
    ],
    ["runs nothing", { command: [] }, /runs nothing by itself\. Give the service a "command"/],
    ["has no image", { image: "budgie-no-such-image" }, /budgie-no-such-image/],
  ] as const)("refuse the turn if one of them %s, and leave nothing", async (_, change, message) => {
    const of = await runner.openSession(createSessionId());

    await expect(run("true", { of, services: [toService("db", 5432, change)] })).rejects.toThrow(message);

    await of.remove();
    expect(await listServices(of.id)).toEqual([]);
  });

  it("leave no container and no folder behind their session", async () => {
    const id = session.id;
    await session.remove();

    expect(await listServices(id)).toEqual([]);
    const scratch = join(place.stateDir, "scratch");
    const left = existsSync(scratch) ? readdirSync(scratch, { recursive: true }).map(String) : [];
    expect(left.filter((path) => path.includes("services"))).toEqual([]);
  });
});
