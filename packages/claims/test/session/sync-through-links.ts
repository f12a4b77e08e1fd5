import { pack } from "tar-stream";
import type { Lab } from "../../src/lab/lab.ts";
import { testEngine } from "../../../runner-docker/test/helpers/docker-place.ts";
import { createRawContainer } from "../helpers/raw-session.ts";

/** Changes a lab to write a renewed login by path through the engine's archive API, which follows symlinks. */
export function syncThroughLinks(lab: Lab): Partial<Lab> {
  return {
    async run(argv, options = {}) {
      const { login: _, ...later } = options;
      if (argv[0] !== "/bin/true") return lab.run(argv, options);
      const mounts = [
        { Type: "bind" as const, Source: options.directory ?? lab.workspace, Target: "/workspace" },
        { Type: "volume" as const, Source: `budgie-session-${options.session?.id}`, Target: "/home" },
      ];
      await using raw = await createRawContainer(await testEngine(), { HostConfig: { Mounts: mounts } });
      const archive = pack();
      archive.entry({ name: "data.sqlite3" }, "a renewed login");
      archive.finalize();
      const path = "/home/agent/.local/share/kiro-cli";
      await raw.container.putArchive(archive as unknown as NodeJS.ReadableStream, { path });
      return await lab.run(argv, later);
    },
  };
}
