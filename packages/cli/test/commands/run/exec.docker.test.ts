import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createTerminal } from "./create-terminal.ts";
import { isContainer, removeKept } from "../../helpers/engine.ts";
import { runHere } from "../../helpers/run-here.ts";
import { CALL_VARIABLES, createBudgieUser, TEST_IMAGE, waitFor, type BudgieUser } from "../../helpers/start-budgie.ts";

let user: BudgieUser;

beforeEach(async () => {
  user = await createBudgieUser();
});

afterEach(async () => {
  const left = await removeKept(user);
  await user[Symbol.asyncDispose]();
  expect(left.filter(isContainer)).toEqual([]);
});

const OPTIONS = ["--sandbox-image", TEST_IMAGE] as const;

function exec(options: readonly string[], ...argv: readonly string[]) {
  return user.run(
    ["exec", ...options, ...OPTIONS, "-C", user.workspace, "shell-worker", "--", ...argv],
    CALL_VARIABLES,
  );
}

// Prints the rights of a process, its place and its variables.
const RIGHTS =
  'grep -E "^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp)" /proc/self/status; ulimit -n; pwd; readlink /proc/self/ns/* | sort; ' +
  'grep -c . /proc/self/mountinfo; env | grep -vE "^(_|PWD|OLDPWD|SHLVL|TERM|LINES|COLUMNS|HOSTNAME)=" | sort';

it("budgie exec runs a command where the agent works: its output and exit code are the command's, and its session goes on", async () => {
  const script = 'pwd; cat given; echo made >made; echo kept >"$HOME/kept"; echo aside >&2; exit 7';
  writeFileSync(join(user.workspace, "given"), "of the project\n");

  const first = await exec([], "sh", "-c", script);
  const second = await exec(["--continue"], "sh", "-c", 'cat "$HOME/kept"; kill -KILL $$');
  const argv = ["run", "shell-worker", "[[say: on]]", "--continue", "-C", user.workspace, ...OPTIONS];
  const turn = await user.run(argv, CALL_VARIABLES);

  expect(first).toMatchObject({ exitCode: 7, stdout: "/workspace\nof the project\n" });
  expect(first.stderr).toMatch(/^aside\n/);
  expect(readFileSync(join(user.workspace, "made"), "utf8")).toBe("made\n");
  expect(second).toMatchObject({ exitCode: 137, stdout: "kept\n" });
  expect(turn).toMatchObject({ exitCode: 0, stdout: "on\n" });
});

it("budgie exec passes bytes on as they are, and the text on stdin only if it is asked to", async () => {
  const bytes = await exec([], "printf", String.raw`\000\377\033[1m`);
  const argv = ["exec", "-i", "shell-worker", "-C", user.workspace, ...OPTIONS, "cat"];
  const child = user.launch(argv, CALL_VARIABLES);
  child.stdin?.end("two\nlines");

  expect(bytes.exitCode).toBe(0);
  expect(Buffer.from(bytes.stdout, "utf8").toString("hex")).toBe("00efbfbd1b5b316d");
  expect(await text(child.stdout as Readable)).toBe("two\nlines");
  expect(await exec([], "cat")).toMatchObject({ exitCode: 0, stdout: "" });
});

it("budgie exec has the agent's policy, and reports what was refused and which files the machine would run", async () => {
  mkdirSync(join(user.workspace, ".git", "hooks"), { recursive: true });
  const script =
    'echo >.git/hooks/post-checkout; (exec 3<>/dev/tcp/127.0.0.1/3128; printf "CONNECT other.example:443 HTTP/1.1\\r\\n\\r\\n" >&3; head -n 1 <&3)';

  const { stderr, stdout } = await exec([], "bash", "-c", script);
  const readOnly = await exec(["--workspace", "ro"], "touch", "made");
  const lost = await exec([], "no-such-command");

  expect(stdout).toContain("403");
  expect(stderr).toMatch(/refused: other\.example/);
  expect(stderr).toContain(".git/hooks/post-checkout");
  expect(readOnly.exitCode).toBe(1);
  expect(readOnly.stderr).toContain("Read-only file system");
  expect(lost.exitCode).toBe(1);
  expect(lost.stderr).toContain('COMMAND_NOT_FOUND: There is no program "no-such-command"');
});

it("budgie shell is a terminal with the rights and variables of the agent, and no more", async () => {
  const terminal = createTerminal({ columns: 91, rows: 33 });
  const agents = await exec([], "bash", "-c", RIGHTS);
  const program = runHere(["shell", "shell-worker", "-C", user.workspace, ...OPTIONS], {
    env: { ...CALL_VARIABLES, PATH: process.env["PATH"], HOME: user.host.home, TERM: "screen" },
    home: user.host.home,
    terminal,
  });
  let shown = "";
  program.stdout.on("data", (chunk: Buffer) => (shown += chunk.toString()));
  const after = async (line: string, sign: string | RegExp): Promise<void> => {
    program.stdin.write(line);
    await waitFor(() => shown.search(sign) >= 0);
  };

  await waitFor(() => terminal.isRaw());
  await after('echo "size $(stty size) $TERM"\r', "size 33 91 screen");
  terminal.resize({ columns: 70, rows: 20 });
  await after('while [ "$(stty size)" != "20 70" ]; do sleep 0.1; done; echo "now $(stty size)"\r', "now 20 70");
  await after("sleep 600\r", "sleep 600");
  await after('\u0003echo "interr""upted"\r', "interrupted");
  await after(`clear; (${RIGHTS}) >rights; ls -A /tmp; echo "wri""tten"; exit 5\r`, "written");

  expect(await program.ended).toMatchObject({ exitCode: 5 });
  expect(await text(program.stderr)).toMatch(/session [\da-f-]{36}/);
  expect(terminal.isRaw()).toBe(false);
  expect(shown).not.toContain(".budgie-variables");
  const rights = readFileSync(join(user.workspace, "rights"), "utf8");
  expect(withoutNumbers(rights)).toBe(withoutNumbers(agents.stdout));
  expect(rights).toMatch(/^CapEff:\t0{16}\nCapBnd:\t0{16}/m);
  expect(rights).toMatch(/^NoNewPrivs:\t1\nSeccomp:\t2/m);
});

it("budgie shell and exec refuse what has no sandbox or no terminal", async () => {
  const argv = ["-C", user.workspace, ...OPTIONS];

  const local = await user.command(["exec", "shell-worker", "true", "--no-sandbox", ...argv], CALL_VARIABLES);
  const piped = await user.command(["shell", "shell-worker", ...argv], CALL_VARIABLES);
  const home = { env: { ...CALL_VARIABLES, HOME: user.host.home }, home: user.host.home };
  const unnamed = runHere(["shell", ...argv], { ...home, terminal: createTerminal({ columns: 80, rows: 24 }) });

  expect(local.exitCode).toBe(2);
  expect(local.stderr).toContain('The agent "shell-worker" has no sandbox here');
  expect(piped.exitCode).toBe(2);
  expect(piped.stderr).toContain('"budgie shell" needs a terminal');
  expect(await unnamed.ended).toMatchObject({ exitCode: 1 });
  expect(await text(unnamed.stderr)).toMatch(/Name an agent\. There are .*shell-worker/);
});

/** The namespaces of two containers differ, except the one that budgie lets them share. */
function withoutNumbers(rights: string): string {
  return rights.replaceAll(/:\[\d+\]/g, ":[]");
}
