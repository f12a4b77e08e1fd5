/** The state of a client's side of a TLS connection, as far as its records show it. */
type ClientState =
  /** It has not finished its handshake, or has sent nothing since then */
  | "unused"
  /** It said goodbye without having sent anything after its handshake */
  | "closed"
  /** It sent an alert about a certificate in place of the end of its handshake */
  | "alert"
  /** It sent another alert, such as that it shares no cipher with the server */
  | "failed"
  | "used";

/** The records that a client sends. */
export type ClientRecords = {
  readonly read: (chunk: Buffer) => void;
  /** Returns the state so far; all but `unused` are final */
  readonly state: () => ClientState;
};

const HEADER_BYTES = 5;
const TYPE = { alert: 21, handshake: 22, encrypted: 23 } as const;
const PLAIN_ALERT_BYTES = 2;
// Level, description, type, and a tag. Java pads its alerts.
const ENCRYPTED_ALERT_BYTES = 19;
// A header, a hash, a type and a tag: what a client of TLS 1.3 encrypts in its place is shorter only if it is an alert.
const LEAST_FINISHED_BYTES = 53;
const CLOSE_NOTIFY = 0;
// From bad_certificate to certificate_unknown, and unknown_ca. The rest says nothing of a certificate.
const CERTIFICATE_ALERTS: ReadonlySet<number> = new Set([42, 43, 44, 45, 46, 48]);

/**
 * Creates a reader of a client's records. With `startsWithHello`, the first one is its hello; bytes that begin otherwise are no TLS, and
 * count as `used`. Of encrypted records it judges the type and the length.
 */
export function createClientRecords({ startsWithHello }: { readonly startsWithHello: boolean }): ClientRecords {
  let state: ClientState = "unused";
  let awaitsHello = startsWithHello;
  // Before TLS 1.3, the end of a handshake is no encrypted record.
  let isOld = false;
  let hasFinished = false;
  let head = Buffer.alloc(0);
  let left = 0;

  function judge(type: number, length: number, description: number): ClientState {
    if (awaitsHello) {
      awaitsHello = false;
      return type === TYPE.handshake ? "unused" : "used";
    }
    if (type === TYPE.alert) return length === PLAIN_ALERT_BYTES ? judgeAlert(description) : "closed";
    if (type === TYPE.handshake) isOld = true;
    return type === TYPE.encrypted ? judgeEncrypted(length) : "unused";
  }

  function judgeEncrypted(length: number): ClientState {
    if (isOld) return "used";
    if (hasFinished) return length === ENCRYPTED_ALERT_BYTES ? "closed" : "used";
    hasFinished = true;
    return length < LEAST_FINISHED_BYTES ? "alert" : "unused";
  }

  return {
    read(chunk) {
      for (let at = 0; at < chunk.length && state === "unused";) {
        if (left > 0) {
          const skipped = Math.min(left, chunk.length - at);
          left -= skipped;
          at += skipped;
          continue;
        }
        const taken = chunk.subarray(at, at + countWanted(head) - head.length);
        head = Buffer.concat([head, taken]);
        at += taken.length;
        if (head.length < countWanted(head)) continue;
        const length = head.readUInt16BE(3);
        state = judge(head[0] ?? 0, length, head[HEADER_BYTES + 1] ?? 0);
        left = Math.max(0, length - (head.length - HEADER_BYTES));
        head = Buffer.alloc(0);
      }
    },
    state: () => state,
  };
}

function judgeAlert(description: number): ClientState {
  if (description === CLOSE_NOTIFY) return "closed";
  return CERTIFICATE_ALERTS.has(description) ? "alert" : "failed";
}

/** Returns the number of bytes that tell what a record is: an alert's content counts too. */
function countWanted(head: Buffer): number {
  return head[0] === TYPE.alert ? HEADER_BYTES + PLAIN_ALERT_BYTES : HEADER_BYTES;
}
