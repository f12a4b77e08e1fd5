import { once } from "node:events";
import { mkdtempSync, chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createHoldPlace, HOLD_LACK, type HoldPlace } from "./hold-place.ts";

const NUMBERS =
  process.arch === "arm64"
    ? { socket: 198, ptrace: 117, sendto: 206, sendmsg: 211, sendmmsg: 269 }
    : { socket: 41, ptrace: 101, sendto: 44, sendmsg: 46, sendmmsg: 307 };

/** Makes a system call in a process of `hold`, and returns 0 or the error's number. */
async function call(place: HoldPlace, ports: readonly number[] | undefined, script: string): Promise<number> {
  const { stdout, stderr, signal } = await place.run({
    argv: ["perl", "-MSocket", "-e", `${script} or do { print $! + 0; exit }; print 0`],
    ...(ports && { ports }),
  });
  return signal === 0 && stderr.length === 0 ? Number(stdout.toString()) : NaN;
}

const socket = (...args: readonly number[]): string => `syscall(${NUMBERS.socket}, ${args.join(", ")}) >= 0`;
const listening = async (port: number): Promise<{ readonly port: number } & Disposable> => {
  const server = createServer((peer) => peer.destroy()).listen(port, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, [Symbol.dispose]: () => void server.close() };
};
const connect = (port: number): string =>
  `(socket($s, 2, 1, 0) && connect($s, pack_sockaddr_in(${port}, inet_aton("127.0.0.1"))))`;
const [EPERM, ENOENT, EACCES, ENOTSOCK, ENOTCONN, ECONNREFUSED] = [1, 2, 13, 88, 107, 111];

// A port that nobody listens on, below the ephemeral ones of every machine.
const LOW = 947;

describe.skipIf(HOLD_LACK !== undefined)(`the jail (${HOLD_LACK ?? "on this machine"})`, () => {
  it("tells the ABI of Landlock, and the ephemeral ports", async () => {
    await using place = await createHoldPlace();

    const range = readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8").trim().split(/\s+/).map(Number);
    expect(place.hello.slice(1)).toEqual(range);
    expect(place.hello[0]).toBeGreaterThanOrEqual(0);
  });

  it("lets processes connect to the order's ports and ephemeral ones, on a kernel whose Landlock knows ports", async (test) => {
    await using place = await createHoldPlace();
    test.skip((place.hello[0] ?? 0) < 4, "Landlock of this kernel knows no ports");
    using low = await listening(LOW);
    using high = await listening(0);

    expect(await call(place, [3128], connect(low.port))).toBe(EACCES);
    expect(await call(place, [3128], connect(high.port))).toBe(0);
    expect(await call(place, [3128], connect(3128))).toBe(ECONNREFUSED);
    // Other ports need other rules.
    expect(await call(place, [low.port], connect(low.port))).toBe(0);
    expect(await call(place, [], connect(low.port))).toBe(EACCES);
    expect(await call(place, undefined, connect(low.port))).toBe(0);
  });

  it("leaves UNIX sockets, route netlink and TCP", async () => {
    await using place = await createHoldPlace();

    for (const allowed of [socket(1, 1, 0), socket(1, 2, 0), socket(16, 3, 0), socket(2, 1, 6), socket(10, 1, 0)])
      expect(await call(place, [3128], allowed), allowed).toBe(0);
  });

  for (const [name, script, bare] of [
    ["UDP", socket(2, 2, 0), 0],
    ["UDP of IPv6", socket(10, 2, 17), 0],
    ["MPTCP", socket(2, 1, 262), EPERM],
    ["raw sockets", socket(2, 3, 255), EPERM],
    ["packet sockets", socket(17, 3, 0), EPERM],
    ["vsock", socket(40, 1, 0), EPERM],
    ["netlink of audits", socket(16, 3, 9), EPERM],
    ["io_uring", "syscall(425, 8, $b = pack('x120')) >= 0", EPERM],
    ["fast open when connecting", "(socket($s, 2, 1, 0) && setsockopt($s, 6, 30, pack('i', 1)))", 0],
  ] as const)
    it(`forbids ${name}`, async () => {
      await using place = await createHoldPlace();

      expect(await call(place, [3128], script)).toBeOneOf([EACCES, EPERM]);
      expect(await call(place, undefined, script)).toBe(bare);
    });

  it("forbids fast open with every call that sends, and upper protocols", async () => {
    await using place = await createHoldPlace();
    // Standard input is no socket.
    const { sendto, sendmsg, sendmmsg } = NUMBERS;
    for (const [name, script, bare] of [
      ["sendto", `syscall(${sendto}, 0, 0, 0, 0x20000000, 0, 0) >= 0`, ENOTSOCK],
      ["sendmsg", `syscall(${sendmsg}, 0, 0, 0x20000000) >= 0`, ENOTSOCK],
      ["sendmmsg", `syscall(${sendmmsg}, 0, 0, 0, 0x20000000) >= 0`, ENOTSOCK],
      ["an upper protocol", `(socket($s, 2, 1, 0) && setsockopt($s, 6, 31, "none"))`, ENOENT],
    ] as const) {
      expect(await call(place, [3128], script), name).toBe(EACCES);
      expect(await call(place, undefined, script), name).toBeOneOf([bare, ENOTCONN]);
    }
    // Without fast open, a call reaches the kernel.
    expect(await call(place, [3128], `syscall(${sendto}, 0, 0, 0, 0x4000, 0, 0) >= 0`)).toBe(ENOTSOCK);
  });

  it.runIf(process.arch === "x64")("kills a process that calls as an x32 program", async () => {
    await using place = await createHoldPlace();

    expect(await place.run({ argv: ["perl", "-e", "syscall(0x40000027)"] })).toMatchObject({ code: -1, signal: 31 });
  });

  it("hides process 1 from the agent: no trace, no memory, no environment", async () => {
    await using place = await createHoldPlace();

    const attach = `syscall(${NUMBERS.ptrace}, 16, 1, 0, 0) >= 0`;
    expect(await call(place, undefined, attach)).toBeOneOf([EACCES, EPERM]);
    for (const file of ["mem", "environ", "fd/3"])
      expect(await call(place, undefined, `open(my $f, "<", "/proc/1/${file}")`), file).toBe(EACCES);
    expect(await call(place, undefined, `open(my $f, "<", "/proc/self/mem")`)).toBe(0);
  });

  it("lets processes write only where the agent's files are", async (test) => {
    await using place = await createHoldPlace();
    test.skip((place.hello[0] ?? 0) < 3, "Landlock of this kernel cannot forbid truncation");
    const other = mkdtempSync("/var/tmp/budgie-");
    try {
      chmodSync(other, 0o777);
      writeFileSync(join(other, "end"), "content");
      chmodSync(join(other, "end"), 0o666);
      const script = `echo x > ${other}/end; truncate -s 0 ${other}/end; echo x > $(mktemp) && echo x > /dev/null && echo done`;
      const run = async (directory: string) =>
        (await place.run({ argv: ["sh", "-c", script], directory })).stdout.toString();

      expect(await run("/tmp")).toBe("done\n");
      expect(readFileSync(join(other, "end"), "utf8")).toBe("content");
      // The workspace of the order is writable.
      expect(await run(other)).toBe("done\n");
      expect(readFileSync(join(other, "end"), "utf8")).toBe("");
    } finally {
      rmSync(other, { recursive: true });
    }
  });

  it("keeps the workspace of a read-only order as it is, and no other folder of the agent", async (test) => {
    await using place = await createHoldPlace();
    test.skip((place.hello[0] ?? 0) < 3, "Landlock of this kernel cannot forbid truncation");
    const directory = mkdtempSync("/var/tmp/budgie-");
    try {
      chmodSync(directory, 0o777);
      writeFileSync(join(directory, "given"), "content");
      chmodSync(join(directory, "given"), 0o666);
      const changes = [
        "echo x > given",
        "truncate -s 0 given",
        "rm given",
        "mv given other",
        "mv given /tmp/other",
        "ln given other",
        "ln -s given other",
        "mkdir other",
        "mkfifo other",
        "touch other",
        "cp given /tmp/c && mv /tmp/c given",
      ];
      const script = `${changes.map((change) => `{ ${change}; } 2>/dev/null && echo "${change}"`).join("\n")}\necho x > $(mktemp) && echo outside`;
      const run = async (isReadOnly: boolean, text: string) =>
        (await place.run({ argv: ["sh", "-c", text], directory, isReadOnly })).stdout.toString();

      expect(await run(true, script)).toBe("outside\n");
      expect(readdirSync(directory)).toEqual(["given"]);
      expect(readFileSync(join(directory, "given"), "utf8")).toBe("content");
      expect(await run(false, "echo x > given && mv given other && echo moved")).toBe("moved\n");
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it("cannot be left by a program of the agent, and has limits", async () => {
    await using place = await createHoldPlace();
    const script =
      "grep -E 'NoNewPrivs|Seccomp_filters|SigBlk|SigIgn' /proc/self/status; ulimit -n; ulimit -c; ls /proc/self/fd | wc -l";

    const { stdout } = await place.run({ argv: ["sh", "-c", script], ports: [3128] });

    const lines = stdout
      .toString()
      .trim()
      .split("\n")
      .map((line) => line.replace(/\s+/, " "));
    const signals = ["SigBlk: 0000000000000000", "SigIgn: 0000000000000000"];
    expect(lines).toEqual([...signals, "NoNewPrivs: 1", "Seccomp_filters: 2", "16384", "0", "4"]);
  });

  it("tells in a probe what it forbids", async (test) => {
    await using place = await createHoldPlace();
    test.skip((place.hello[0] ?? 0) < 4, "Landlock of this kernel knows no ports");
    using high = await listening(0);
    const words = ["tcp:127.0.0.1:947", `tcp:127.0.0.1:${high.port}`, "tcp:[::1]:947", "udp:127.0.0.1:947", "end"];
    const probe = async (ports?: readonly number[]) => {
      const { stdout } = await place.run({
        argv: [`${place.folder}/hold`, "probe", ...words],
        ...(ports && { ports }),
      });
      return stdout
        .toString()
        .trim()
        .split("\n")
        .map((line, at) => line.replace(`${words[at]} `, ""));
    };

    expect(await probe([3128])).toEqual(["denied", "connected", "denied", "denied", "missing"]);
    expect(await probe()).toEqual([
      "refused",
      "connected",
      expect.stringMatching(/refused|unreachable/),
      "refused",
      "missing",
    ]);
    const told = await place.run({ argv: [`${place.folder}/hold`, "probe", "wait:200", ...words] });
    expect(told.stdout.toString()).toContain(`tcp:127.0.0.1:${high.port} connected\n`);
    for (const wait of ["wait:0", "wait:501", "wait:5x", "wait:"]) {
      const { stderr, stdout } = await place.run({ argv: [`${place.folder}/hold`, "probe", wait, ...words] });
      expect([stdout.toString(), stderr.toString()]).toEqual(["", "hold: not a time to wait\n"]);
    }
  });
});
