import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { serveOnLoopback } from "@budgie/testkit";

/** A registry of images on the loopback interface, which takes what a user with one login pushes. */
export type Registry = AsyncDisposable & {
  readonly host: string;
  /** The manifests by name and tag, such as `team/budgie:agents` */
  readonly manifests: ReadonlyMap<string, { readonly digest: string; readonly layers: readonly string[] }>;
  /** The sizes of blobs, by digest */
  readonly blobs: ReadonlyMap<string, number>;
};

/** Starts a registry that speaks as much of the distribution protocol as a push needs. */
export async function startRegistry(login: string): Promise<Registry> {
  const blobs = new Map<string, number>();
  const uploads = new Map<string, Buffer>();
  const manifests = new Map<string, { readonly digest: string; readonly layers: readonly string[] }>();
  const wanted = `Basic ${Buffer.from(login).toString("base64")}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://registry");
    const body = await buffer(request);
    const end = (status: number, headers: Readonly<Record<string, string>> = {}): void =>
      void response.writeHead(status, headers).end();
    if (request.headers.authorization !== wanted) return end(401, { "www-authenticate": 'Basic realm="test"' });
    const [, name = "", kind, last = ""] = /^\/v2\/(.*)\/(blobs|manifests)\/(.*)$/.exec(pathname) ?? [];
    const at = `${request.method} ${kind ?? "base"}`;
    const id = last.replace(/^uploads\//, "");
    if (at === "GET base") return end(200);
    if (at === "HEAD blobs")
      return blobs.has(last) ? end(200, { "content-length": String(blobs.get(last)) }) : end(404);
    if (at === "HEAD manifests") return end(404);
    if (at === "PUT manifests") {
      const digest = toDigest(body);
      const { layers = [] } = JSON.parse(String(body)) as { layers?: readonly { readonly digest: string }[] };
      manifests.set(`${name}:${last}`, { digest, layers: layers.map((layer) => layer.digest) });
      return end(201, { "docker-content-digest": digest });
    }
    if (at === "POST blobs") return begin(name, randomUUID(), end);
    const upload = Buffer.concat([uploads.get(id) ?? Buffer.alloc(0), body]);
    uploads.set(id, upload);
    if (at === "PATCH blobs") return begin(name, id, end, upload);
    const digest = searchParams.get("digest") ?? "";
    if (toDigest(upload) !== digest) return end(400);
    blobs.set(digest, upload.length);
    return end(201, { "docker-content-digest": digest });
  }

  const loopback = await serveOnLoopback(createServer((request, response) => void answer(request, response)));
  return { host: `127.0.0.1:${loopback.port}`, manifests, blobs, [Symbol.asyncDispose]: loopback[Symbol.asyncDispose] };
}

type End = (status: number, headers: Readonly<Record<string, string>>) => void;

function begin(name: string, id: string, end: End, upload: Buffer = Buffer.alloc(0)): void {
  end(202, { location: `/v2/${name}/blobs/uploads/${id}`, range: `0-${Math.max(0, upload.length - 1)}` });
}

function toDigest(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
