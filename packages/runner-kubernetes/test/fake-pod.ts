import type { Duplex } from "node:stream";
import { buffer, json } from "node:stream/consumers";
import type { ProcessOrder } from "../src/requests/process-order.ts";
import { createWire, type Wire, type WireStream } from "../src/wire/index.ts";

/** A Pod of an API server for tests, of which only the wire is real. */
export type FakePod = {
  readonly name: string;
  /** The requests so far: the purpose of each, with what it asks or does */
  readonly asked: string[];
  /** The programs that it was to start */
  readonly orders: ProcessOrder[];
  /** Carries a new wire, in place of the last one */
  readonly attach: (connection: Duplex) => void;
  /** Ends the wire, as it does for another budgie */
  readonly close: () => void;
};

/** Answers a request in place of the Pod. Returns false to leave it to that. */
export type Answer = (word: string, stream: WireStream, pod: FakePod) => boolean;

const VALUES: Readonly<Record<string, object>> = {
  hello: { service: "10.96.0.1:443", areFoldersOwn: true },
  kernel: { landlock: 5, ports: [32_768, 60_999] },
  fill: { fillId: null },
};

/** Creates a Pod that does at once whatever it is asked, and has walls that hold. */
export function createFakePod(name: string, answer: Answer = () => false): FakePod {
  let wire: Wire;
  const pod: FakePod = {
    name,
    asked: [],
    orders: [],
    attach(connection) {
      wire = createWire({ side: "pod", onStream: (stream) => void take(stream) });
      wire.attach(connection);
    },
    close: () => wire.close(),
  };

  async function take(stream: WireStream): Promise<void> {
    const { act, ask, purpose } = stream.opening;
    const word = [purpose, ask ?? act].filter((part) => typeof part === "string").join(" ");
    pod.asked.push(word);
    stream.input.on("error", () => undefined);
    stream.output.on("error", () => undefined);
    stream.last.catch(() => undefined);
    if (word === "turn") await startTurn(stream);
    if (answer(word, stream, pod)) return;
    if (word === "turn") return endTurn(stream);
    if (word === "control probe") return endProbe(stream);
    stream.input.resume();
    stream.input.once("end", () => stream.end({ ok: true, ...VALUES[String(ask)] }));
  }

  async function startTurn({ input, opening }: WireStream): Promise<void> {
    const bytes = await buffer(input).catch(() => Buffer.alloc(0));
    pod.orders.push(JSON.parse(bytes.toString("utf8", 0, Number(opening["orderBytes"]))) as ProcessOrder);
    const stderr = wire.open({ purpose: "stderr" });
    stderr.last.catch(() => undefined);
    stderr.end();
  }

  function endTurn(stream: WireStream): void {
    stream.output.write(print(pod.orders.at(-1) as ProcessOrder));
    stream.end({ exitCode: 0, signal: null, oomKills: 0, isDiskFull: false });
  }

  return pod;
}

async function endProbe({ end, input, output }: WireStream): Promise<void> {
  output.write(attempt((await json(input)) as readonly string[], "timeout"));
  end({ ok: true });
}

function print({ argv: [program, what, ...words], ports }: ProcessOrder): string {
  if (!program.endsWith("/hold")) return `${[program, what, ...words].join(" ")}\n`;
  if (what === "scan") return `scanned ${words.slice(1).join(" ")}\n`;
  return attempt(words, ports === undefined ? "timeout" : "denied");
}

/** Returns the words of a probe whose attempts come to nothing, but for those at the proxy. */
function attempt(words: readonly string[], blocked: string): string {
  const tried = words.filter((word) => !word.startsWith("wait:"));
  return tried.map((word) => `${word} ${word.includes("127.0.0.1:3128") ? "connected" : blocked}\n`).join("");
}
