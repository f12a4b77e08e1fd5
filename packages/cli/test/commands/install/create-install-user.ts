import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { runCli } from "../../../src/run-cli.ts";
import { toSilentHost } from "../../helpers/to-silent-host.ts";

type Finished = { readonly exitCode: number; readonly stdout: string };

/** A user with a home and a project, who runs budgie's commands in them. */
export type InstallUser = Disposable & {
  readonly home: string;
  readonly project: string;
  readonly run: (argv: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Finished>;
  /** Writes a file, and creates its folders */
  readonly write: (path: string, content: string | Buffer, mode?: number) => void;
  readonly read: (path: string) => string;
  /** All files below home and project with their modes and contents */
  readonly files: () => Readonly<Record<string, string>>;
};

export function createInstallUser({ uid = 1000 }: { readonly uid?: number } = {}): InstallUser {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "budgie-install-")));
  const [home, project] = [join(root, "home"), join(root, "project")];
  mkdirSync(home);
  mkdirSync(project);
  return {
    home,
    project,
    async run(argv, env = {}) {
      const stdout = new PassThrough();
      const { platform } = process;
      const engine = { DOCKER_HOST: "unix:///no/engine" };
      const exitCode = await runCli(
        argv,
        toSilentHost({ env: { ...engine, ...env }, home, cwd: project, platform, stdout, uid }),
      );
      return { exitCode, stdout: String((stdout.read() as Buffer | null) ?? "") };
    },
    write(path, content, mode = 0o644) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content, { mode });
    },
    read: (path) => readFileSync(path, "utf8"),
    files() {
      const found = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      const paths = found.map(({ name, parentPath }) => join(parentPath, name)).toSorted();
      return Object.fromEntries(paths.map((path) => [path.slice(root.length + 1), toDescription(path)]));
    },
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

function toDescription(path: string): string {
  return `${(statSync(path).mode & 0o7777).toString(8)} ${readFileSync(path, "utf8")}`;
}
