import { randomBytes } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { Readable } from "node:stream";
import { extract, type Header } from "tar-stream";
import { describe, expect, it } from "vitest";
import { connectEngine } from "../../src/engine/engine.ts";
import { ensureOneFileImage, type OneFileImage } from "../../src/image/one-file-image.ts";
import { BASE_IMAGE, testEngine } from "../helpers/docker-place.ts";
import { createEngineProxy } from "../helpers/engine-proxy.ts";

const docker = await testEngine();
const engine = await connectEngine(process.env, process.env["HOME"] ?? "/root");

function newImage(): OneFileImage & AsyncDisposable {
  const name = `budgie-test-${randomBytes(6).toString("hex")}`;
  const content = randomBytes(3000);
  return {
    name,
    architecture: "amd64",
    path: "/program",
    content,
    async [Symbol.asyncDispose]() {
      const made = await docker.listImages({ filters: { reference: [`*${name}`] } });
      await Promise.all(made.flatMap(({ RepoTags }) => RepoTags ?? []).map((tag) => docker.getImage(tag).remove()));
    },
  };
}

type Entry = { readonly header: Header; readonly content: Buffer };

async function unpack(archive: Buffer): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of Readable.from([archive]).pipe(extract())) {
    entries.push({ header: entry.header, content: await buffer(entry) });
  }
  return entries;
}

/** Lists the entries of an image's layers. */
async function unpackLayers(id: string): Promise<readonly Entry[]> {
  const saved = await unpack(await buffer(await docker.getImage(id).get()));
  const read = (name: string) => saved.find(({ header }) => header.name === name)?.content ?? Buffer.alloc(0);
  const [{ Layers }] = JSON.parse(read("manifest.json").toString()) as [{ Layers: string[] }];
  return (await Promise.all(Layers.map((name) => unpack(read(name))))).flat();
}

describe("ensureOneFileImage", () => {
  it("creates an image that contains only one file", async () => {
    await using image = newImage();

    const id = await ensureOneFileImage(engine, image);

    const files = await unpackLayers(id);
    expect(files.map(({ header: { name, mode, type, uid } }) => ({ name, mode, type, uid }))).toEqual([
      { name: "program", mode: 0o755, type: "file", uid: 0 },
    ]);
    expect(files[0]?.content.equals(image.content)).toBe(true);
  });

  it("adds folders that belong to a user", async () => {
    await using image = newImage();
    const folders = { owner: { uid: 1234, gid: 567 }, paths: ["/home/agent"] };

    const id = await ensureOneFileImage(engine, { ...image, folders });

    const found = (await unpackLayers(id)).filter(({ header }) => header.type === "directory");
    expect(found.map(({ header: { gid, mode, name, uid } }) => ({ gid, mode, name, uid }))).toEqual([
      { gid: 567, mode: 0o700, name: "home/agent", uid: 1234 },
    ]);
  });

  it("creates it once for simultaneous callers, with its entrypoint and user", async () => {
    await using image = newImage();

    const together = await Promise.all(Array.from({ length: 8 }, () => ensureOneFileImage(engine, image)));
    const later = await ensureOneFileImage(engine, image);

    const named = await docker.listImages({ filters: { reference: [`*${image.name}`] } });
    expect(new Set([...together, later, ...named.map(({ Id }) => Id)]).size).toBe(1);
    const { Config } = await docker.getImage(later).inspect();
    expect(Config).toMatchObject({ Entrypoint: ["/program"], User: "65534:65534" });
    expect(Object.keys(Config.Labels)).toEqual(["dev.budgie.content"]);
  });

  it("finds it with one request, for simultaneous callers too", async () => {
    await using image = newImage();
    await using proxy = await createEngineProxy();
    const watched = await connectEngine(proxy.hostEnv, "/nonexistent");
    const asked = (): readonly string[] =>
      proxy.requestLines().flatMap((line) => /^(\w+) \/(images\/\w+)/.exec(line)?.slice(1).join(" ") ?? []);

    await ensureOneFileImage(watched, image);
    const making = asked();
    await Promise.all(Array.from({ length: 8 }, () => ensureOneFileImage(watched, image)));

    expect(making).toContain("POST images/load");
    expect(asked().slice(making.length)).toHaveLength(1);
    expect(asked().at(-1)).toMatch(/^GET images/);
  });

  it("gives another content another name", async () => {
    await using image = newImage();

    const ids = [image.content, randomBytes(3000)].map((content) => ensureOneFileImage(engine, { ...image, content }));

    expect(new Set(await Promise.all(ids)).size).toBe(2);
    const named = await docker.listImages({ filters: { reference: [`*${image.name}`] } });
    expect(named.map(({ RepoTags }) => RepoTags?.length)).toEqual([1, 1]);
  });

  it("does not accept another image of the same name", async () => {
    await using image = newImage();
    const id = await ensureOneFileImage(engine, image);
    const [repo = "", tag = ""] = (await docker.getImage(id).inspect()).RepoTags[0]?.split(":") ?? [];
    await docker.getImage(id).remove();
    await docker.getImage(BASE_IMAGE).tag({ repo, tag });

    expect(await ensureOneFileImage(engine, image)).toBe(id);
  });
});
