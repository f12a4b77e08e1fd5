import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { makeCanaries, type Canaries } from "./canaries.ts";
import { createHostDatabase } from "./host-database.ts";
import { openDatabase } from "./kiro-cli/state/open-database.ts";

/** A Kiro user's home folder, with secrets that a sandboxed agent must not see. */
export type HostHome = AsyncDisposable & {
  /** Path of the folder, for `HOME` */
  readonly home: string;
  /** `.kiro/agents` */
  readonly agentsDir: string;
  /** `.kiro/sub-agents/prompts` */
  readonly promptsDir: string;
  /** `.local/share/kiro-cli` */
  readonly dataDir: string;
  /** `data.sqlite3` in `dataDir` */
  readonly database: string;
  /** Runs SQL on the database, for example to renew a token or to corrupt a row */
  readonly changeDatabase: (sql: string) => void;
  /** Strings that stand for secrets, by location */
  readonly canaries: Canaries;
};

export type HostHomeOptions = {
  /** Logs Kiro in; default true */
  readonly login?: boolean;
  /** Leaves the database open in WAL mode, with its newest rows in the `-wal` file, like a running Kiro; default false */
  readonly wal?: boolean;
  /** Adds an agent file that is not JSON; default false */
  readonly malformedAgent?: boolean;
};

/** Creates a home in a temporary folder, which disposal removes. */
export async function createHostHome(options: HostHomeOptions = {}): Promise<HostHome> {
  const { login = true, wal = false, malformedAgent = false } = options;
  const home = await mkdtemp(join(tmpdir(), "budgie-host-home-"));
  const canaries = makeCanaries();
  await writeFiles(home, toFiles(canaries, malformedAgent));
  const dataDir = join(home, ".local", "share", "kiro-cli");
  const database = join(dataDir, "data.sqlite3");
  const closeDatabase = createHostDatabase(database, canaries, { login, wal });
  return {
    home,
    agentsDir: join(home, ".kiro", "agents"),
    promptsDir: join(home, ".kiro", "sub-agents", "prompts"),
    dataDir,
    database,
    canaries,
    changeDatabase(sql) {
      const opened = openDatabase(database, { wal });
      opened.exec(sql);
      opened.close();
    },
    async [Symbol.asyncDispose]() {
      closeDatabase();
      await rm(home, { recursive: true, force: true });
    },
  };
}

type Files = Readonly<Record<string, { readonly text: string; readonly mode?: number }>>;

async function writeFiles(home: string, files: Files): Promise<void> {
  for (const [name, { text, mode = 0o644 }] of Object.entries(files)) {
    const path = join(home, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { mode });
  }
}

function toFiles(canaries: Canaries, malformedAgent: boolean): Files {
  return {
    ".kiro/agents/code-reviewer.json": agent("code-reviewer", "sub-agent: Reviews code for bugs and security", {
      tools: ["fs_read", "fs_write"],
      allowedTools: ["fs_read", "fs_write"],
    }),
    ".kiro/agents/reader.json": agent("reader", "sub-agent: Reads, and changes nothing", {
      tools: ["fs_read", "fs_write"],
      allowedTools: ["fs_read"],
    }),
    ".kiro/agents/shell-worker.json": agent("shell-worker", "sub-agent: Runs commands", {
      tools: ["*"],
      allowedTools: ["fs_read", "fs_write", "execute_bash"],
    }),
    ".kiro/agents/orchestrator.json": agent("orchestrator", "Hands work to the others", {
      tools: ["*"],
      mcpServers: { budgie: { command: "budgie", args: ["--sandbox"], env: { TOKEN: canaries.otherAgentSecret } } },
    }),
    ...(malformedAgent ? { ".kiro/agents/malformed.json": { text: '{ "name": "malformed", ' } } : {}),
    ".kiro/sub-agents/prompts/code-reviewer.md": { text: REVIEWER_PROMPT },
    ".kiro/steering/style.md": { text: "Write short sentences.\n" },
    ".kiro/settings/mcp.json": {
      text: JSON.stringify({ mcpServers: { tracker: { command: "tracker", env: { TOKEN: canaries.mcpSecret } } } }),
      mode: 0o600,
    },
    ".ssh/id_rsa": {
      text: `-----BEGIN OPENSSH PRIVATE KEY-----\n${canaries.sshKey}\n-----END OPENSSH PRIVATE KEY-----\n`,
      mode: 0o600,
    },
    ".aws/credentials": {
      text: `[default]\naws_access_key_id = AKIAEXAMPLE\naws_secret_access_key = ${canaries.awsCredentials}\n`,
      mode: 0o600,
    },
  };
}

function agent(name: string, description: string, fields: Readonly<Record<string, unknown>>) {
  return { text: `${JSON.stringify({ name, description, prompt: `You are ${name}.`, ...fields }, undefined, 2)}\n` };
}

const REVIEWER_PROMPT = `---
name: code-reviewer
description: Reviews code for bugs and security
capabilities:
  - Finds bugs
  - Finds security holes
use_when:
  - A change is to be merged
avoid_when:
  - Code is to be written
model: claude-sonnet-4.5
tags: [review]
---
You review code.
`;
