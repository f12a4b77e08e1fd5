import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { buffer } from "node:stream/consumers";
import { createGzip } from "node:zlib";
import { serveOnLoopback, type Identity, type LoopbackServer } from "@budgie/testkit";
import { openEngine } from "./engine.ts";

/** A registry on loopback with one package, as npm asks for it. */
export type NpmRegistry = LoopbackServer & { readonly url: string };

type Source = {
  /** An image in which the package is installed */
  readonly image: string;
  /** Its folder there */
  readonly folder: string;
  /** A certificate for `localhost`; without it the registry speaks plain HTTP */
  readonly identity?: Identity;
};

/** Serves the package of a folder in an image. Everything else is unknown. */
export async function createNpmRegistry({ folder, identity, image }: Source): Promise<NpmRegistry> {
  const { manifest, tarball } = await readPackage({ folder, image });
  const scheme = identity === undefined ? "http" : "https";
  const answer: RequestListener = ({ headers, url = "" }, response) => {
    const address = `${scheme}://${headers.host}/package.tgz`;
    if (url === "/package.tgz") return void response.end(tarball);
    if (decodeURIComponent(url) !== `/${manifest.name}`) return void response.writeHead(404).end("{}");
    const versions = { [manifest.version]: { ...manifest, dist: { tarball: address } } };
    response.end(JSON.stringify({ name: manifest.name, "dist-tags": { latest: manifest.version }, versions }));
  };
  const served = await serveOnLoopback(
    identity === undefined ? createServer(answer) : createSecureServer(identity, answer),
  );
  return { ...served, url: `${scheme}://${identity === undefined ? "127.0.0.1" : "localhost"}:${served.port}/` };
}

type Manifest = { readonly name: string; readonly version: string };

async function readPackage({
  folder,
  image,
}: Omit<Source, "identity">): Promise<{ manifest: Manifest; tarball: Buffer }> {
  const docker = await openEngine();
  const container = await docker.createContainer({ Image: image, Cmd: ["true"] });
  try {
    const archive = await container.getArchive({ path: folder });
    const tarball = await buffer(archive.pipe(createGzip()));
    const file = await buffer(await container.getArchive({ path: `${folder}/package.json` }));
    // A tar of one file: a header of 512 bytes, which has the size in octal digits, and the content.
    const size = Number.parseInt(file.toString("latin1", 124, 136), 8);
    return { manifest: JSON.parse(file.toString("utf8", 512, 512 + size)) as Manifest, tarball };
  } finally {
    await container.remove({ force: true });
  }
}
