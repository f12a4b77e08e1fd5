import { BudgieError } from "@budgie/core";
import { awaitAnswer } from "../session/ask-pod.ts";
import type { Clock, Wire } from "../wire/index.ts";
import { talkToPod } from "./talk-to-pod.ts";

/** The start of a file to read. */
export type PodReading = {
  readonly wire: Wire;
  readonly clock: Clock | undefined;
  /** The path below the home */
  readonly path: string;
  readonly mostBytes: number;
};

/** The result of a reader, or the kind of what is there in place of a file, of which a Pod may say anything. */
export type PodFile<T> = { readonly content: T; readonly kind?: never } | { readonly kind: unknown };

/** Has `take` read the first bytes of a file of a Pod's home. It keeps nothing of them if this rejects, or resolves to a kind. */
export function readPodFile<T>(
  { clock, mostBytes, path, wire }: PodReading,
  take: (content: AsyncIterable<Buffer>) => Promise<T>,
): Promise<PodFile<T>> {
  const request = { purpose: "file", act: "read", path, mostBytes } as const;
  return talkToPod({ wire, clock, request }, async (stream, tick) => {
    stream.end();
    async function* pieces(): AsyncGenerator<Buffer> {
      let room = mostBytes;
      for await (const piece of stream.input as AsyncIterable<Buffer>) {
        tick();
        room -= piece.length;
        if (room < 0) throw tooMuchError(path);
        yield piece;
      }
    }
    const content = await take(pieces());
    const { kind } = await awaitAnswer(stream);
    return kind === undefined ? { content } : { kind };
  });
}

function tooMuchError(path: string): BudgieError {
  return new BudgieError(
    "SESSION_UNUSABLE",
    `The Pod sent more of "${path}" than it was asked for. Begin a new session.`,
  );
}
