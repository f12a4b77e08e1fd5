import { createLineReader, parseBoundedJson } from "@budgie/core/bounds";

type BuildEvent = { readonly stream?: string; readonly error?: string; readonly status?: string };

/**
 * Follows the events of a build to their end, and returns its error. A failed build ends its stream without an error: only the last event
 * reports it. Throws for an event of more than 1 MiB, and for one that is not JSON.
 */
export async function followBuild(
  events: AsyncIterable<Buffer>,
  onProgress: (line: string) => void,
): Promise<string | undefined> {
  let failure: string | undefined;
  let begun = "";
  const tell = (text: string): void => {
    const lines = (begun + text).split("\n");
    begun = lines.pop() ?? "";
    // A command that draws a bar of dots ends no line.
    if (begun.length > LONGEST_LINE) {
      lines.push(begun);
      begun = "";
    }
    for (const line of lines.map((each) => each.trimEnd())) if (line !== "") onProgress(line);
  };
  const read = createLineReader({
    maxBytes: LARGEST_EVENT_BYTES,
    onLine(line) {
      if (line.length === 0) return;
      const { error, status = "", stream = `${status}\n` } = parseBoundedJson(line) as BuildEvent;
      failure ??= error;
      // An event contains several lines of a command's output, or a part of one.
      tell(stream);
    },
    onTooLong() {
      throw new Error(`the engine reported more than ${LARGEST_EVENT_BYTES} bytes at once`);
    },
  });
  for await (const chunk of events) read(chunk);
  tell("\n");
  return failure;
}

const LARGEST_EVENT_BYTES = 2 ** 20;
const LONGEST_LINE = 4096;
