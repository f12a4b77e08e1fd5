import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import Database from "better-sqlite3";
import { extract, pack } from "tar-stream";
import type { Readable } from "node:stream";
import type { Lab } from "../../src/lab/lab.ts";
import { testEngine } from "../../../runner-docker/test/helpers/docker-place.ts";
import { createRawContainer } from "../helpers/raw-session.ts";

const FOLDER = "/home/agent/.local/share/kiro-cli";

/** Changes a lab to write a renewed login into the existing database. */
export function updateInPlace(lab: Lab): Partial<Lab> {
  return {
    async run(argv, options = {}) {
      const { login: _, ...later } = options;
      if (argv[0] !== "/bin/true") return lab.run(argv, options);
      const mounts = [{ Type: "volume" as const, Source: `budgie-session-${options.session?.id}`, Target: "/home" }];
      await using raw = await createRawContainer(await testEngine(), { HostConfig: { Mounts: mounts } });
      const archive = pack();
      const entries = (await raw.container.getArchive({ path: `${FOLDER}/data.sqlite3` })).pipe(extract());
      for await (const entry of entries) {
        const { gid, mode, name, uid } = entry.header;
        archive.entry({ name, mode, uid, gid }, update(await buffer(entry as unknown as Readable)));
      }
      archive.finalize();
      await raw.container.putArchive(archive as unknown as NodeJS.ReadableStream, { path: FOLDER });
      return await lab.run(argv, later);
    },
  };
}

function update(content: Buffer): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "budgie-in-place-"));
  try {
    const file = join(folder, "data.sqlite3");
    writeFileSync(file, content);
    const database = new Database(file);
    database.exec("DELETE FROM auth_kv; INSERT INTO auth_kv (key, value) VALUES ('kirocli:odic:token', 'renewed')");
    database.close();
    return readFileSync(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
