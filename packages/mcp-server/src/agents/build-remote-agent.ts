import type { Agent } from "@budgie/core";
import type { RemoteAgent } from "@budgie/core/agents";

type Section = RemoteAgent & Pick<Agent, "description" | "file">;

/** Returns an agent that runs elsewhere. Its description says what its callers must know. */
export function buildRemoteAgent(name: string, { description, file, ...remote }: Section): Agent {
  const { allowRemote, headers, namesContext, url } = remote;
  return {
    name,
    description: `${description}\n\nIt runs elsewhere and gets the prompt alone: nothing of the directory is sent to it.`,
    whenToUse: "",
    file,
    promptFile: undefined,
    writesFiles: true,
    remote: { url, headers, allowRemote, namesContext },
    model: undefined,
    hasModel: false,
  };
}
