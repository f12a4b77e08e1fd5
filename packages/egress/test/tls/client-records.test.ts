import { describe, expect, it } from "vitest";
import { createClientRecords } from "../../src/tls/client-records.ts";

const record = (type: number, ...content: readonly number[]): Buffer =>
  Buffer.from([type, 3, 3, content.length >> 8, content.length & 255, ...content]);
const some = (length: number): readonly number[] => Array.from({ length }, () => 7);

const HELLO = record(22, ...some(200));
const CHANGE = record(20, 1);
const FINISHED = record(23, ...some(69));
const ENCRYPTED_ALERT = record(23, ...some(19));
const REQUEST = record(23, ...some(500));
const OLD_KEYS = record(22, ...some(37));
const OLD_FINISHED = record(22, ...some(40));
const OLD_ENCRYPTED_ALERT = record(21, ...some(26));
const UNKNOWN_CA = record(21, 2, 48);

const CASES: readonly [string, string, readonly Buffer[]][] = [
  ["nothing", "unused", []],
  ["an alert in place of the handshake's end", "alert", [UNKNOWN_CA]],
  ["the same, encrypted", "alert", [CHANGE, ENCRYPTED_ALERT]],
  ["the same, encrypted and padded", "alert", [CHANGE, record(23, ...some(35))]],
  ["an alert that is not about a certificate", "failed", [record(21, 2, 40)]],
  ["a goodbye in place of the handshake's end", "closed", [record(21, 1, 0)]],
  ["the handshake's end alone", "unused", [CHANGE, FINISHED]],
  ["a goodbye after the handshake", "closed", [CHANGE, FINISHED, ENCRYPTED_ALERT]],
  ["a request", "used", [CHANGE, FINISHED, REQUEST]],
  ["a request and a goodbye", "used", [CHANGE, FINISHED, REQUEST, ENCRYPTED_ALERT]],
  ["the end of an old handshake alone", "unused", [OLD_KEYS, CHANGE, OLD_FINISHED]],
  ["a goodbye after an old handshake", "closed", [OLD_KEYS, CHANGE, OLD_FINISHED, OLD_ENCRYPTED_ALERT]],
  ["a request after an old handshake", "used", [OLD_KEYS, CHANGE, OLD_FINISHED, REQUEST]],
];

describe("the records of a client that sends after its hello", () => {
  it.each(CASES)("%s: %s", (_, state, records) => {
    const bytes = Buffer.concat(records);
    const [whole, split, opened] = [false, false, true].map((startsWithHello) =>
      createClientRecords({ startsWithHello }),
    );
    whole?.read(bytes);
    for (const byte of bytes) split?.read(Buffer.from([byte]));
    opened?.read(Buffer.concat([HELLO, bytes]));

    expect([whole, split, opened].map((records) => records?.state())).toEqual([state, state, state]);
  });

  it("are used if they begin with no hello", () => {
    const records = createClientRecords({ startsWithHello: true });
    records.read(Buffer.from("SSH-2.0-OpenSSH\r\n"));

    expect(records.state()).toBe("used");
  });
});
