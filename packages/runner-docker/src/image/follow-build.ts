import type { Readable } from "node:stream";
import type Docker from "dockerode";

type BuildEvent = { readonly stream?: string; readonly error?: string; readonly status?: string };

/** Follows a build to its end, and returns its error. A failed build ends its stream without an error: only the last event reports it. */
export async function followBuild(
  docker: Docker,
  stream: Readable,
  onProgress: (line: string) => void,
): Promise<string | undefined> {
  let begun = "";
  const tell = (text: string): void => {
    const lines = (begun + text).split("\n");
    begun = lines.pop() ?? "";
    for (const line of lines.map((each) => each.trimEnd())) if (line !== "") onProgress(line);
  };
  const events = await new Promise<readonly BuildEvent[]>((resolve, reject) => {
    docker.modem.followProgress(
      stream,
      (error: Error | null, all: BuildEvent[]) => (error ? reject(error) : resolve(all)),
      (event: BuildEvent) => {
        // An event contains several lines of a command's output, or a part of one.
        tell(event.stream ?? `${event.status ?? ""}\n`);
      },
    );
  });
  tell("\n");
  return events.find((event) => event.error !== undefined)?.error;
}
