import { BudgieError, isHomePath } from "@budgie/core";
import { SANDBOX } from "../profile/sandbox-paths.ts";
import type { HomeArchive } from "./home-archive.ts";

/** The files of a session's home that budgie itself reads and writes, by their paths below it. */
export type HomeFiles = {
  /** Reads a regular file, at most 4 MiB of it; `undefined` if there is none */
  readonly read: (path: string) => Promise<string | undefined>;
  readonly append: (path: string, text: string) => Promise<void>;
};

const LARGEST_ANSWER_BYTES = 4 * 1024 * 1024;
const LARGEST_LOG_BYTES = 64 * 1024 * 1024;

/**
 * Creates access to the files of a home. `readAround` is a quicker way to read one than the archive, which is asked where that finds
 * nothing; default none.
 */
export function createHomeFiles(
  archive: Pick<HomeArchive, "readFile" | "write">,
  readAround: HomeArchive["readFile"] = () => Promise.resolve(undefined),
): HomeFiles {
  return {
    async read(path) {
      const file = checkPath(path);
      const content =
        (await readAround(file, LARGEST_ANSWER_BYTES)) ?? (await archive.readFile(file, LARGEST_ANSWER_BYTES));
      return content?.toString("utf8");
    },
    async append(path, text) {
      const file = checkPath(path);
      const before = (await archive.readFile(file, LARGEST_LOG_BYTES)) ?? Buffer.alloc(0);
      const content = Buffer.concat([before, Buffer.from(text)]);
      await archive.write([{ path: `${SANDBOX.home}/${file}`, content, mode: 0o600 }]);
    },
  };
}

function checkPath(path: string): string {
  if (isHomePath(path)) return path;
  throw new BudgieError("SESSION_UNUSABLE", `${JSON.stringify(path)} is not the path of a file in a session's home.`);
}
