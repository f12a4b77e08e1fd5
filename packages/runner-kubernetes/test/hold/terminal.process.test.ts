import { describe, expect, it } from "vitest";
import { createHoldPlace, HOLD_LACK, type HoldPlace } from "./hold-place.ts";

const CONTROL_C = "\u0003";

function toMessage(kind: "i" | "s", payload: Buffer): Buffer {
  const header = Buffer.from([kind.charCodeAt(0), payload.length & 0xff, payload.length >> 8]);
  return Buffer.concat([header, payload]);
}

const toKeys = (text: string): Buffer => toMessage("i", Buffer.from(text));

function toSize(columns: number, rows: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt16LE(columns, 0);
  payload.writeUInt16LE(rows, 2);
  return toMessage("s", payload);
}

/** Starts a script on a terminal, in the jail as any process of an agent. */
function start(place: HoldPlace, script: string): void {
  place.start({ argv: [`${place.folder}/hold`, "terminal", "93", "31", "/bin/sh", "-c", script], ports: [3128] });
}

/** Reads until the terminal has shown a text, and returns all that it showed. */
async function readUntil(place: HoldPlace, text: string): Promise<string> {
  for (let shown = ""; ;) {
    const { kind, payload } = await place.next();
    if (kind === "R" || kind === "E") throw new Error(`It ended after ${JSON.stringify(shown)}: ${String(payload)}`);
    if (kind === "O") shown += payload.toString();
    if (shown.includes(text)) return shown;
  }
}

describe.skipIf(HOLD_LACK !== undefined)(`a terminal (${HOLD_LACK ?? "on this machine"})`, () => {
  it("has its size from the start, takes another one, and tells its program's exit code", async () => {
    await using place = await createHoldPlace();
    start(place, "trap 'stty size; exit 7' WINCH; tty; stty size; echo up; while :; do sleep 0.1; done");

    expect(await readUntil(place, "up\r\n")).toMatch(/^\/dev\/pts\/\d+\r\n31 93\r\nup\r\n$/);
    place.send("I", toSize(100, 40));
    expect(await place.finish()).toMatchObject({ code: 7, stdout: Buffer.from("40 100\r\n") });
  });

  it("takes keys in pieces of any length, and interrupts the program at Ctrl-C", async () => {
    await using place = await createHoldPlace();
    start(place, "stty -echo; echo up; read -r line; echo got $line; exec sleep 600");

    await readUntil(place, "up\r\n");
    for (const byte of toKeys("two words\r")) place.send("I", Buffer.from([byte]));
    await readUntil(place, "got two words\r\n");
    place.send("I", Buffer.concat([toKeys(""), toKeys(CONTROL_C)]));
    expect((await place.finish()).code).toBe(128 + 2);
  });

  it("takes more keys than it has room for once the program reads them", async () => {
    await using place = await createHoldPlace();
    const text = "x".repeat(60_000);
    start(place, "stty raw -echo; printf up; sleep 0.5; head -c 120000 | wc -c");

    await readUntil(place, "up");
    place.send("I", toKeys(text));
    place.send("I", toKeys(text));
    expect((await place.finish()).stdout.toString()).toBe("120000\n");
  });

  it("shows all of what was printed, also beside a program that runs on", async () => {
    await using place = await createHoldPlace();
    start(place, "setsid sleep 600 & seq 100000; exit 3");

    const { code, stdout } = await place.finish();
    expect(code).toBe(3);
    expect(stdout.toString().split("\r\n").slice(-3)).toEqual(["99999", "100000", ""]);
  });

  it("hangs up at the end of stdin, also if the program has left its terminal", async () => {
    await using place = await createHoldPlace();
    start(place, "trap '' HUP; echo up; exec sleep 600 <&- >/dev/null 2>&1");

    await readUntil(place, "up\r\n");
    place.send("I");
    expect((await place.finish()).code).toBe(128 + 1);
  });

  it("tells an unknown message, and a program that is missing", async () => {
    await using place = await createHoldPlace();
    start(place, "echo up; exec sleep 600");
    await readUntil(place, "up\r\n");
    place.send("I", Buffer.from("x\0\0"));
    expect(await place.finish()).toMatchObject({
      code: 1,
      stderr: Buffer.from("hold: not a message for a terminal\n"),
    });

    const argv = [`${place.folder}/hold`, "terminal", "1", "1", "/missing"];
    const { code, stdout } = await place.run({ argv, ports: [3128] });
    expect([code, stdout.toString()]).toEqual([125, "/missing: not found in the sandbox\r\n"]);
  });
});
