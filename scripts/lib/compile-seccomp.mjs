// Compiles budgie's seccomp profile to a BPF program on standard output: compile-seccomp.mjs amd64|arm64
// NUMBERS has the macros of the kernel's <asm/unistd.h> for the architecture, as the preprocessor prints them.
import { SECCOMP_PROFILE } from "../../packages/sandbox/dist/profile/seccomp-profile.js";

const architecture = process.argv[2];
const AUDIT_ARCH = { amd64: 0xc000003e, arm64: 0xc00000b7 }[architecture];

// Calls that are newer than the headers. They have the same numbers everywhere, but for the first, which only x86-64 has.
const NEWER = {
  ...(architecture === "amd64" ? { uretprobe: 335, map_shadow_stack: 453 } : {}),
  cachestat: 451,
  fchmodat2: 452,
  futex_wake: 454,
  futex_wait: 455,
  futex_requeue: 456,
  statmount: 457,
  listmount: 458,
  mseal: 462,
  setxattrat: 463,
  getxattrat: 464,
  listxattrat: 465,
  removexattrat: 466,
};

const [LOAD, JUMP, EQUAL, GREATER, AT_LEAST, AND, RETURN] = [0x20, 0x05, 0x15, 0x25, 0x35, 0x54, 0x06];
const [ALLOW, KILL, ERRNO] = [0x7fff0000, 0x80000000, 0x00050000];
const [NUMBER, ARCH] = [0, 4];
const X32 = 0x40000000;
const EPERM = 1;

const op = (code, k, [yes, no] = [0, 0]) => ({ code, k: k >>> 0, yes, no });
const low = (index) => op(LOAD, 16 + 8 * index);
const high = (index) => op(LOAD, 20 + 8 * index);

/** Reads the numbers of calls, which may be names of other macros. */
function readNumbers() {
  const macros = new Map();
  for (const line of process.env.NUMBERS.split("\n")) {
    const [, name, value] = /^#define (__NR\w+) (\w+)$/.exec(line) ?? [];
    if (name !== undefined) macros.set(name, value);
  }
  const resolve = (value) => (macros.has(value) ? resolve(macros.get(value)) : Number(value));
  return (name) => NEWER[name] ?? (macros.has(`__NR_${name}`) ? resolve(`__NR_${name}`) : undefined);
}

/** Returns what allows the call if all conditions hold, and else goes on. Compares all 64 bits. */
function compileRule(args) {
  const tests = args.flatMap(({ index, op: kind, value, valueTwo }) => {
    const wanted = kind === "SCMP_CMP_EQ" ? value : valueTwo;
    const isMasked = kind === "SCMP_CMP_MASKED_EQ";
    if (!isMasked && kind !== "SCMP_CMP_EQ") throw new Error(`unknown condition ${kind}`);
    // Every mask is below 2^32.
    const upper = isMasked ? [] : [high(index), op(EQUAL, 0)];
    return [...upper, low(index), ...(isMasked ? [op(AND, value)] : []), op(EQUAL, wanted)];
  });
  // A test that fails goes past the rule.
  return [...tests.map((it, at) => (it.code === EQUAL ? { ...it, no: tests.length - at } : it)), op(RETURN, ALLOW)];
}

/** Returns the numbers as ranges, so that the program is short. */
function toRanges(numbers) {
  const ranges = [];
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges;
}

function compile(profile) {
  const numberOf = readNumbers();
  const [plain, special] = [new Set(), new Map()];
  for (const { names, action, args = [], errnoRet, includes } of profile.syscalls) {
    if (includes !== undefined && !includes.arches.includes(architecture)) continue;
    for (const number of names.map(numberOf).filter((it) => it !== undefined)) {
      if (action === "SCMP_ACT_ALLOW" && args.length === 0) plain.add(number);
      else {
        const rule = action === "SCMP_ACT_ALLOW" ? compileRule(args) : [op(RETURN, ERRNO | errnoRet)];
        special.set(number, [...(special.get(number) ?? []), ...rule]);
      }
    }
  }
  const refuse = op(RETURN, ERRNO | EPERM);
  const blocks = [...special].flatMap(([number, rules]) => [
    op(EQUAL, number, [1, 0]),
    op(JUMP, rules.length + 1),
    ...rules,
    refuse,
  ]);
  const ranges = toRanges([...plain]).flatMap(([first, last]) => [
    op(AT_LEAST, first, [0, 2]),
    op(GREATER, last, [1, 0]),
    op(RETURN, ALLOW),
  ]);
  return [
    op(LOAD, ARCH),
    op(EQUAL, AUDIT_ARCH, [1, 0]),
    op(RETURN, KILL),
    op(LOAD, NUMBER),
    // A tracer replaces a call by -1, which is refused below.
    op(EQUAL, 0xffffffff, [2, 0]),
    op(AT_LEAST, X32, [0, 1]),
    op(RETURN, KILL),
    ...blocks,
    ...ranges,
    refuse,
  ];
}

const program = compile(JSON.parse(SECCOMP_PROFILE));
const bytes = Buffer.alloc(8 * program.length);
for (const [at, { code, k, yes, no }] of program.entries()) {
  if (yes > 255 || no > 255) throw new Error("a jump is too long");
  bytes.writeUInt16LE(code, 8 * at);
  bytes.writeUInt8(yes, 8 * at + 2);
  bytes.writeUInt8(no, 8 * at + 3);
  bytes.writeUInt32LE(k, 8 * at + 4);
}
process.stdout.write(bytes);
