import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AS_AGENT, createHoldPlace, HOLD_LACK, type HoldPlace } from "./hold-place.ts";

const FIRST_ABI_OF_SCOPES = 6;
const [EPERM, SIGSYS] = [1, 31];
const toPerl = (script: string) => ["perl", "-MSocket", "-e", `${script} or do { print $! + 0; exit }; print 0`];
const connectTo = (name: string) =>
  `socket($s, AF_UNIX, SOCK_STREAM, 0) && connect($s, pack_sockaddr_un("\\0${name}"))`;
// Some versions of Node bind another name than they are told.
const listenOn = (name: string) =>
  `socket($l, AF_UNIX, SOCK_STREAM, 0) && bind($l, pack_sockaddr_un("\\0${name}")) && listen($l, 1)`;
const runBare = (argv: readonly string[]) => {
  const [command = "", ...rest] = [...AS_AGENT, ...argv];
  return spawnSync(command, rest, { encoding: "utf8" });
};

async function call(place: HoldPlace, script: string): Promise<string> {
  return (await place.run({ argv: toPerl(script) })).stdout.toString();
}

const hasScopes = ({ hello: [abi = 0] }: HoldPlace) => abi >= FIRST_ABI_OF_SCOPES;

describe.skipIf(HOLD_LACK !== undefined)(`the jail's scopes (${HOLD_LACK ?? "on this machine"})`, () => {
  it("keep processes from abstract sockets of others, and not from their own", async (test) => {
    await using place = await createHoldPlace();
    test.skip(!hasScopes(place), "Landlock of this kernel knows no scopes");
    const name = `budgie-${randomUUID()}`;
    const server = spawn("perl", ["-MSocket", "-e", `$| = 1; ${listenOn(name)} && print "listens"; sleep 1000`]);
    await once(server.stdout, "data");
    try {
      expect(await call(place, connectTo(name))).toBe(`${EPERM}`);
      expect(runBare(toPerl(connectTo(name))).stdout).toBe("0");
      expect(await call(place, `${listenOn(`own-${name}`)} && ${connectTo(`own-${name}`)}`)).toBe("0");
    } finally {
      server.kill();
    }
  });

  it("keep signals of processes from process 1, and not from each other", async (test) => {
    await using place = await createHoldPlace();
    test.skip(!hasScopes(place), "Landlock of this kernel knows no scopes");

    for (const signal of ["0", "'TERM'", "'KILL'", "'CHLD'"])
      expect(await call(place, `kill(${signal}, 1)`), signal).toBe(`${EPERM}`);
    const child = "$p = fork(); if ($p == 0) { sleep 1000; exit }";
    expect(await call(place, `${child} kill('TERM', $p) && waitpid($p, 0) == $p && ($? & 127) == 15`)).toBe("0");
    // Process 1 of the same user could be signalled without the scope.
    expect((await place.run({ argv: ["true"] })).code).toBe(0);
    const [hold, isolated] = ["$h = fork(); if ($h == 0) { sleep 1000; exit }", "kill('TERM', $h)"];
    expect(runBare(toPerl(`${hold} ${isolated}`)).stdout).toBe("0");
  });
});

describe.skipIf(HOLD_LACK !== undefined || process.arch !== "x64")("a program that calls as a 32-bit one", () => {
  it("is killed, with a jail around its network and without", async (test) => {
    await using place = await createHoldPlace();
    const program = join(place.folder, "program");
    writeFileSync(program, toProgram(INT_0X80));
    chmodSync(program, 0o755);
    test.skip(runBare([program]).status !== 7, "this kernel runs no 32-bit calls");

    for (const order of [{ ports: [3128] }, {}])
      expect(await place.run({ argv: [program], ...order })).toMatchObject({ code: -1, signal: SIGSYS });
    writeFileSync(program, toProgram([]));
    expect(await place.run({ argv: [program], ports: [3128] })).toMatchObject({ code: 7, signal: 0 });
  });
});

// mov eax, 20 (getpid of 32-bit programs); int 0x80
const INT_0X80 = [0xb8, 20, 0, 0, 0, 0xcd, 0x80];

/** Makes a static program for x86-64 of machine code, which exits with 7 after it. */
function toProgram(code: readonly number[]): Buffer {
  // mov eax, 60 (exit); mov edi, 7; syscall
  const exit = [0xb8, 60, 0, 0, 0, 0xbf, 7, 0, 0, 0, 0x0f, 0x05];
  const [headers, base] = [64 + 56, 0x40_0000n];
  const size = headers + code.length + exit.length;
  const file = Buffer.alloc(headers);
  file.write("\x7fELF\x02\x01\x01", "latin1");
  // An executable for x86-64, its version, its entry, and where its one program header is.
  file.set([2, 0, 62, 0, 1], 16);
  file.writeBigUInt64LE(base + BigInt(headers), 24);
  file.writeBigUInt64LE(64n, 32);
  file.set([64, 0, 56, 0, 1], 52);
  // The whole file is loaded, readable and executable.
  file.set([1, 0, 0, 0, 5], 64);
  for (const [at, value] of [base, base, BigInt(size), BigInt(size), 0x1000n].entries())
    file.writeBigUInt64LE(value, 64 + 16 + 8 * at);
  return Buffer.concat([file, Buffer.from([...code, ...exit])]);
}
