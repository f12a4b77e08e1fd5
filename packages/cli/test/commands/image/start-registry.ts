import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { serveOnLoopback } from "@budgie/testkit";

type Manifest = { readonly digest: string; readonly layers: readonly string[] };

/** A registry of images on the loopback interface, which takes what a user with one login pushes. */
export type Registry = AsyncDisposable & {
  readonly host: string;
  /** The manifests by name and tag, such as `team/budgie:agents` */
  readonly manifests: ReadonlyMap<string, Manifest>;
  /** The sizes of blobs, by digest */
  readonly blobs: ReadonlyMap<string, number>;
};

type Asked = { readonly name: string; readonly id: string; readonly digest: string; readonly body: Buffer };
type Answer = { readonly status: number; readonly headers?: Readonly<Record<string, string>> };

/** Starts a registry that speaks as much of the distribution protocol as a push needs. */
export async function startRegistry(login: string): Promise<Registry> {
  const blobs = new Map<string, number>();
  const uploads = new Map<string, Buffer>();
  const manifests = new Map<string, Manifest>();
  const wanted = `Basic ${Buffer.from(login).toString("base64")}`;

  function append({ body, id }: Asked): Buffer {
    const upload = Buffer.concat([uploads.get(id) ?? Buffer.alloc(0), body]);
    uploads.set(id, upload);
    return upload;
  }

  const answers: Readonly<Record<string, (asked: Asked) => Answer>> = {
    "GET base": () => ({ status: 200 }),
    "HEAD manifests": () => ({ status: 404 }),
    "HEAD blobs": ({ id }) => {
      const size = blobs.get(id);
      return size === undefined ? { status: 404 } : { status: 200, headers: { "content-length": String(size) } };
    },
    "POST blobs": ({ name }) => toUpload(name, randomUUID(), 0),
    "PATCH blobs": (asked) => toUpload(asked.name, asked.id, append(asked).length),
    "PUT blobs": (asked) => {
      const upload = append(asked);
      if (toDigest(upload) !== asked.digest) return { status: 400 };
      blobs.set(asked.digest, upload.length);
      return toStored(asked.digest);
    },
    "PUT manifests": ({ body, id, name }) => {
      const digest = toDigest(body);
      const { layers = [] } = JSON.parse(String(body)) as { layers?: readonly { readonly digest: string }[] };
      manifests.set(`${name}:${id}`, { digest, layers: layers.map((layer) => layer.digest) });
      return toStored(digest);
    },
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://registry");
    const body = await buffer(request);
    const [, name = "", kind = "base", last = ""] = /^\/v2\/(.*)\/(blobs|manifests)\/(.*)$/.exec(pathname) ?? [];
    const asked = { name, id: last.replace(/^uploads\//, ""), digest: searchParams.get("digest") ?? "", body };
    const isKnown = request.headers.authorization === wanted;
    const { headers, status } = isKnown
      ? (answers[`${request.method} ${kind}`]?.(asked) ?? { status: 405 })
      : { status: 401, headers: { "www-authenticate": 'Basic realm="test"' } };
    response.writeHead(status, headers).end();
  }

  const loopback = await serveOnLoopback(createServer((request, response) => void serve(request, response)));
  return { host: `127.0.0.1:${loopback.port}`, manifests, blobs, [Symbol.asyncDispose]: loopback[Symbol.asyncDispose] };
}

function toUpload(name: string, id: string, length: number): Answer {
  const headers = { location: `/v2/${name}/blobs/uploads/${id}`, range: `0-${Math.max(0, length - 1)}` };
  return { status: 202, headers };
}

function toStored(digest: string): Answer {
  return { status: 201, headers: { "docker-content-digest": digest } };
}

function toDigest(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
