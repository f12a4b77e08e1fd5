import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { PodRequest } from "../../src/requests/pod-request.ts";
import type { ProcessOrder } from "../../src/requests/process-order.ts";
import { toRoots, type PodRoots } from "../../src/sidecar/pod-roots.ts";
import { startSidecar, type Sidecar } from "../../src/sidecar/start-sidecar.ts";
import { createWire, type Wire } from "../../src/wire/wire.ts";
import type { WireStream } from "../../src/wire/wire-stream.ts";
import { connectFakeHold, type FakeHold } from "./fake-hold.ts";
import { createFakeClock, type FakeClock } from "./fake-clock.ts";

/** A budgie that is connected to a sidecar. */
type FakeBudgie = {
  readonly wire: Wire;
  readonly bridge: () => Socket;
  readonly reconnect: () => Promise<void>;
  /** Resolves to the next stream that the Pod opens */
  readonly nextOpened: () => Promise<WireStream>;
  /** Asks, and resolves to the bytes of the answer and its last value */
  readonly ask: (request: PodRequest, input?: Buffer) => Promise<Asked>;
  readonly startTurn: (order?: Partial<ProcessOrder>) => WireStream;
};

type Asked = { readonly bytes: Buffer; readonly last: Readonly<Record<string, unknown>> };

/** A sidecar in a folder of its own, with what belongs to it. */
export type RunningSidecar = AsyncDisposable & {
  readonly roots: PodRoots;
  readonly sidecar: Sidecar;
  readonly clock: FakeClock;
  readonly connectHold: () => Promise<FakeHold>;
  readonly connectBudgie: () => Promise<FakeBudgie>;
};

const ORDER: ProcessOrder = {
  argv: ["agent", "--go"],
  env: { TOKEN: "secret" },
  unset: ["KUBERNETES_*"],
  directory: "/workspace",
  ports: [3128],
  isReadOnly: false,
  limits: { pids: 64, diskBytes: 2 ** 30 },
};

const ARCHITECTURE = process.arch === "arm64" ? "arm64" : "amd64";
const COPIER = fileURLToPath(new URL(`../../../runner-docker/forwarder/linux-${ARCHITECTURE}`, import.meta.url));

/** Starts a sidecar, to which nothing is connected. */
export async function runSidecar(): Promise<RunningSidecar> {
  const root = mkdtempSync(join(tmpdir(), "budgie-sidecar-"));
  const roots = toRoots(root);
  for (const folder of [roots.image, dirname(roots.holdSocket), roots.home, dirname(roots.wireSocket)])
    mkdirSync(folder, { recursive: true });
  copyFileSync(COPIER, join(roots.image, "forwarder"));
  const clock = createFakeClock();
  const sidecar = await startSidecar({ roots, egressPort: 0, clock });
  const wires: Wire[] = [];
  return {
    roots,
    sidecar,
    clock,
    connectHold: () => connectFakeHold(roots.holdSocket),
    async connectBudgie() {
      const budgie = await connectBudgie(roots);
      wires.push(budgie.wire);
      return budgie;
    },
    async [Symbol.asyncDispose]() {
      for (const wire of wires) wire.close();
      sidecar.stop();
      await sidecar.ended;
      rmSync(root, { recursive: true, force: true });
    },
  };
}

async function connectBudgie({ wireSocket }: PodRoots): Promise<FakeBudgie> {
  const opened: WireStream[] = [];
  let tell: () => void = () => undefined;
  const onStream = (stream: WireStream): void => {
    opened.push(stream);
    tell();
  };
  const wire = createWire({ side: "budgie", onStream, clock: createFakeClock() });
  let bridge: Socket;
  const reconnect = async (): Promise<void> => {
    bridge = connect(wireSocket);
    await once(bridge, "connect");
    wire.attach(bridge);
  };
  await reconnect();
  return {
    wire,
    bridge: () => bridge,
    reconnect,
    async nextOpened() {
      while (opened.length === 0) await new Promise<void>((resolve) => (tell = resolve));
      return opened.shift() as WireStream;
    },
    async ask(request, input) {
      const stream = wire.open(request);
      if (input !== undefined) stream.output.write(input);
      stream.end();
      const bytes = await buffer(stream.input);
      return { bytes, last: await stream.last };
    },
    startTurn(order = {}) {
      const bytes = Buffer.from(JSON.stringify({ ...ORDER, ...order }));
      const stream = wire.open({ purpose: "turn", orderBytes: bytes.length });
      stream.output.write(bytes);
      return stream;
    },
  };
}

/** Says hello, as `hold` does first. */
export function greet(hold: FakeHold): void {
  hold.say("H", [5, 32_768, 60_999]);
}
