import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { pack } from "tar-stream";
import { testEngine } from "../helpers/docker-place.ts";

export type TestImage = AsyncDisposable & { readonly name: string };

/** A file of a build's context. Files without a suffix are executable. */
export type ContextFiles = Readonly<Record<string, string | Buffer>>;

/** Builds an image for one test. Disposing it removes it. */
export async function buildImage(dockerfile: string, files: ContextFiles = {}): Promise<TestImage> {
  const docker = await testEngine();
  const id = createHash("sha256").update(`${dockerfile}${Math.random()}`).digest("hex").slice(0, 12);
  const name = `budgie-test-${id}`;
  const context = pack();
  for (const [path, content] of Object.entries({ ...files, Dockerfile: dockerfile })) {
    context.entry({ name: path, mode: 0o755 }, typeof content === "string" ? Buffer.from(content) : content);
  }
  context.finalize();
  const stream = await docker.buildImage(context as unknown as NodeJS.ReadableStream, {
    t: name,
    rm: true,
    forcerm: true,
  });
  const events = await new Promise<readonly { error?: string }[]>((resolve, reject) => {
    docker.modem.followProgress(stream as Readable, (error: Error | null, all: { error?: string }[]) =>
      error ? reject(error) : resolve(all),
    );
  });
  const failure = events.find(({ error }) => error !== undefined);
  if (failure !== undefined) throw new Error(failure.error);
  return {
    name,
    async [Symbol.asyncDispose]() {
      await docker.getImage(name).remove({ force: true });
    },
  };
}

/** Removes what an engine without BuildKit keeps of the first stages of a build, by what the build printed. */
export async function removeStages(printed: string): Promise<void> {
  const docker = await testEngine();
  const built = new Set([...printed.matchAll(/^ ---> ([0-9a-f]{12})$/gm)].map(([, id]) => id));
  const unnamed = await docker.listImages({ filters: { dangling: ["true"] } });
  for (const { Id } of unnamed.filter((image) => built.has(image.Id.slice(7, 19)))) await docker.getImage(Id).remove();
}
