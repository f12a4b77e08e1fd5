import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ClientRequest } from "node:http";
import { Session, type Debugger, type Profiler, type Runtime } from "node:inspector";

/** The path of a call through the sources of budgie's packages. */
export type Trace = {
  /** The `async` functions that led to the last request, the innermost first */
  readonly frames: readonly string[];
};

/**
 * Makes a call in this process, and traces it up to the first HTTP request that `isLast` accepts. V8 counts the functions that run,
 * and follows promises and callbacks back to the functions that created them.
 */
export async function traceCall(
  call: () => Promise<unknown>,
  isLast: (request: ClientRequest) => boolean,
): Promise<Trace> {
  const session = new Session();
  const stack: Runtime.CallFrame[] = [];
  let scripts: readonly Script[] = [];

  function readSource(scriptId: string): string {
    let source = "";
    session.post("Debugger.getScriptSource", { scriptId }, (_error, found) => (source = found.scriptSource));
    return source;
  }

  // Requests are announced in the function that makes them.
  function onRequest(message: unknown): void {
    if (stack.length > 0 || !isLast((message as { readonly request: ClientRequest }).request)) return;
    session.post("Profiler.takePreciseCoverage", (_error, { result }) => {
      scripts = result
        .filter(({ url }) => FILE.test(url))
        .map((script) => toScript(script, readSource(script.scriptId)));
    });
    // The session receives the stack. It belongs to this thread, so the thread does not pause.
    // oxlint-disable-next-line no-debugger
    debugger;
  }

  session.connect();
  session.on("Debugger.paused", ({ params }) => stack.push(...toFrames(params)));
  session.post("Debugger.enable");
  session.post("Debugger.setAsyncCallStackDepth", { maxDepth: 1000 });
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  subscribe(REQUEST, onRequest);
  try {
    await call();
  } finally {
    unsubscribe(REQUEST, onRequest);
    session.disconnect();
  }
  const names = stack.flatMap((frame) => toAsyncName(frame, scripts));
  return {
    // A function that awaited ends one part of the stack and begins the next, so it is there twice.
    frames: names.filter((name, index) => name !== names[index - 1]),
  };
}

const REQUEST = "http.client.request.start";
const FILE = /^.*\/packages\/((?!testkit)[\w-]+)\/src\//;

type Script = { readonly id: string; readonly file: string; readonly source: string; readonly ran: readonly Ran[] };

/** A function that ran, between two offsets of its file. */
type Ran = {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly isAsync: boolean;
};

function toScript({ functions, scriptId, url }: Profiler.ScriptCoverage, source: string): Script {
  const all = functions.flatMap(({ functionName: name, ranges: [whole] }) =>
    whole === undefined ? [] : [{ name, from: whole.startOffset, to: whole.endOffset, count: whole.count }],
  );
  const ran = all
    .filter(({ count, from, to }) => count > 0 && from > 0 && !IMPORT.test(source.slice(from, to)))
    .map(({ from, name, to }) => {
      const inner = all.filter((other) => other.from > from && other.to <= to);
      const own = inner.reduce(
        (text, other) => text.replace(source.slice(other.from, other.to), ""),
        source.slice(from, to),
      );
      return { name, from, to, isAsync: /^(?:static )?async\b/.test(own) };
    });
  return { id: scriptId, file: url.replace(FILE, "$1 "), source, ran };
}

// Vite turns each export into a function that importers call.
const IMPORT = /^\(\) ?=> ?\{ ?try ?\{/;

/** Lists the frames of a paused program, then those that created its promises and callbacks, the innermost first. */
function toFrames({ asyncStackTrace, callFrames }: Debugger.PausedEventDataType): readonly Runtime.CallFrame[] {
  const frames = callFrames.map(({ functionName, location: { columnNumber = 0, ...location }, url }) => {
    return { functionName, url, columnNumber, ...location };
  });
  for (let trace = asyncStackTrace; trace !== undefined; trace = trace.parent) frames.push(...trace.callFrames);
  return frames;
}

/** Names the `async` function of a frame; empty for another function, and for one of a library. */
function toAsyncName(frame: Runtime.CallFrame, scripts: readonly Script[]): readonly string[] {
  const script = scripts.find(({ id }) => id === frame.scriptId);
  if (script === undefined) return [];
  const before = script.source.split("\n").slice(0, frame.lineNumber).join("\n");
  const offset = before.length + 1 + frame.columnNumber;
  const [innermost] = script.ran
    .filter(({ from, to }) => from <= offset && offset < to)
    .toSorted((a, b) => a.to - a.from - (b.to - b.from));
  return innermost?.isAsync === true ? [`${script.file}: ${innermost.name} at ${innermost.from}`] : [];
}
