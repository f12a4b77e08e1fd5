import type { Socket } from "node:net";

/** A server that believes any request which it can parse. */
type NaiveServer = {
  /** The server's own name */
  readonly host: string;
  /** The answer to a single HTTP request or TLS hello that is unambiguously for this host */
  readonly greeting: string;
  /** The answer to anything else, which another server could interpret as an unchecked request */
  readonly canary: string;
};

// Longer than the pause between two parts of an attack.
const PAUSE_MS = 100;

/** Creates a connection handler that answers once, by all bytes received before the first pause. */
export function answerNaively({ canary, greeting, host }: NaiveServer): (socket: Socket) => void {
  return (socket) => {
    let received = Buffer.alloc(0);
    let timer: NodeJS.Timeout | undefined;
    const answer = (): void => {
      const isFine = received[0] === 22 ? isHelloFor(received, host) : isRequestFor(received.toString("latin1"), host);
      const said = isFine ? greeting : canary;
      socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${said.length + 1}\r\n\r\n${said}\n`);
    };
    socket.on("error", () => undefined).on("close", () => clearTimeout(timer));
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      clearTimeout(timer);
      timer = setTimeout(answer, PAUSE_MS);
    });
  };
}

/** Tells whether the only server name in a TLS hello is this host. */
function isHelloFor(bytes: Buffer, host: string): boolean {
  const names = bytes
    .toString("latin1")
    .split(/[^\w.-]+/)
    .filter((word) => word.includes(".test"));
  return names.length === 1 && names[0] === host;
}

function isRequestFor(text: string, host: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const [first = "", ...headers] = text.slice(0, end).split("\r\n");
  if (
    !/^(?:GET|POST) \/\S* HTTP\/1\.1$/.test(first) ||
    !headers.every((line) => /^[\w-]+:[ \t]*(?:[\x21-\x7e][\x20-\x7e]*)?$/.test(line))
  )
    return false;
  const valuesOf = (name: string): readonly string[] =>
    headers
      .filter((line) => line.toLowerCase().startsWith(`${name}:`))
      .map((line) => line.slice(name.length + 1).trim());
  const [named = "", ...others] = valuesOf("host");
  if (others.length > 0 || named.replace(/:\d+$/, "") !== host) return false;
  return isOneBody(text.slice(end + 4), {
    lengths: valuesOf("content-length"),
    codings: valuesOf("transfer-encoding"),
  });
}

/** Tells whether the rest of the stream is exactly one body, whose length is given in only one way. */
function isOneBody(
  rest: string,
  { codings, lengths }: { readonly lengths: readonly string[]; readonly codings: readonly string[] },
): boolean {
  if (codings.length + lengths.length > 1) return false;
  if (codings.length === 0) return rest.length === Number(lengths[0] ?? 0);
  const end = rest.indexOf("0\r\n\r\n");
  return codings[0] === "chunked" && end >= 0 && end + 5 === rest.length;
}
