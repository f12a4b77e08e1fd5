import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/** A directory with files. */
export type Project = ReturnType<typeof createProject>;

/** Creates a directory that ends with its test. */
export function createProject() {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "budgie-images-")));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const place = (path: string): string => {
    const whole = join(directory, path);
    mkdirSync(dirname(whole), { recursive: true });
    return whole;
  };
  const write = (path: string, text: string): void => writeFileSync(place(path), text);
  return {
    directory,
    write,
    remove: (path: string): void => rmSync(join(directory, path)),
    link: (to: string, path: string): void => symlinkSync(to, place(path)),
    fill(count: number): void {
      write(".budgie/Dockerfile", "FROM a");
      for (let index = 0; index < count; index += 1) write(`.budgie/f${index}`, "");
    },
  };
}
