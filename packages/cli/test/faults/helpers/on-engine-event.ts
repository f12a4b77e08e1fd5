import type { Readable } from "node:stream";
import { createInterface } from "node:readline";
import type { Engine } from "../../../../runner-docker/src/engine/engine.ts";

type EventSought = {
  /** The home of the user whose budgie causes it */
  readonly home: string;
  readonly event: string;
  readonly role: string;
};

/** Listens for the first such event of a container; resolves once it listens. */
export async function onEngineEvent(
  docker: Engine["docker"],
  { event, home, role }: EventSought,
): Promise<AsyncDisposable & { readonly seen: Promise<void> }> {
  const filters = JSON.stringify({ type: ["container"], event: [event], label: [`dev.budgie.role=${role}`] });
  const stream = (await docker.getEvents({ filters })) as Readable;
  const seen = new Promise<void>((resolve) => {
    createInterface(stream).on("line", (line) => {
      const { Actor } = JSON.parse(line) as { Actor: { Attributes: Record<string, string> } };
      if (Actor.Attributes["dev.budgie.lock"]?.startsWith(home) === true) resolve();
    });
  });
  return { seen, [Symbol.asyncDispose]: async () => void stream.destroy() };
}
