import { buffer } from "node:stream/consumers";
import { createHash } from "node:crypto";
import { receiveFile } from "../../src/wire/receive-file.ts";
import { sendFile } from "../../src/wire/send-file.ts";
import { parseAgentEnd } from "../../src/wire/agent-end.ts";
import type { WireStream } from "../../src/wire/wire-stream.ts";
import { createWire, type Wire } from "../../src/wire/wire.ts";

/** Two wires that lie a connection apart. */
export type Ends = { readonly budgie: Wire; readonly pod: Wire };

const FILE = Buffer.alloc(70_000, "file");
const OUTPUT = Buffer.alloc(70_001, "output");

/** Creates both ends of a wire. `onDetached` hears that the connection broke, from each end. */
export function createEnds(
  onDetached: (side: "budgie" | "pod") => void,
): Ends & { readonly seen: Promise<readonly string[]> } {
  const seen: string[] = [];
  const see = (what: string): void => void seen.push(what);
  const budgie: Wire = createWire({
    side: "budgie",
    onDetached: () => onDetached("budgie"),
    onStream: (stream) => void follow(stream, see),
  });
  const pod: Wire = createWire({
    side: "pod",
    onDetached: () => onDetached("pod"),
    onStream: (stream) => void serve(pod, stream, see),
  });
  return { budgie, pod, seen: runTurn(budgie, see).then(() => seen.toSorted()) };
}

/** Runs a turn from budgie's side: a request, a file, and an agent. */
async function runTurn(wire: Wire, see: (what: string) => void): Promise<void> {
  const control = wire.open({ purpose: "control", ask: "files?" });
  control.end();
  const file = wire.open({ purpose: "file", path: "a" });
  await sendFile(file, toPieces(FILE, 30_000));
  see(`file stored ${JSON.stringify(await file.last)}`);
  const turn = wire.open({ purpose: "turn", argv: ["agent"] });
  turn.output.write("the ");
  turn.output.write("prompt");
  turn.end();
  see(`stdout ${digest(await buffer(turn.input))}`);
  see(`end ${JSON.stringify(parseAgentEnd(await turn.last))}`);
  see(`control ${JSON.stringify(await control.last)}`);
}

/** Takes the streams that the Pod opens. */
async function follow({ end, input, opening, output }: WireStream, see: (what: string) => void): Promise<void> {
  see(`${opening.purpose} ${digest(await buffer(input))}`);
  if (opening.purpose === "egress") output.write("200 OK");
  end();
}

/** Answers a stream that budgie opened, as a Pod does. */
async function serve(wire: Wire, stream: WireStream, see: (what: string) => void): Promise<void> {
  const { end, input, opening, output } = stream;
  if (opening.purpose === "file") {
    const pieces: Buffer[] = [];
    for await (const piece of receiveFile(stream, FILE.length)) pieces.push(piece);
    see(`got file ${digest(Buffer.concat(pieces))}`);
    return end({ stored: true });
  }
  see(`got ${opening.purpose} ${digest(await buffer(input))}`);
  if (opening.purpose === "control") return end({ answer: "one" });
  const stderr = wire.open({ purpose: "stderr" });
  stderr.output.write("a warning");
  stderr.end();
  const egress = wire.open({ purpose: "egress", port: 3128 });
  egress.output.write("GET /");
  egress.end();
  see(`got answer ${digest(await buffer(egress.input))}`);
  for await (const piece of toPieces(OUTPUT, 20_000)) output.write(piece);
  end({ exitCode: 0, signal: null, oomKills: 0 });
}

async function* toPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function digest(bytes: Buffer): string {
  return `${bytes.length} ${createHash("sha256").update(bytes).digest("hex").slice(0, 8)}`;
}
