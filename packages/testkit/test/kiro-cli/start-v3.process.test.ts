import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createKiroUser, type KiroUser } from "./run-kiro-cli.ts";

const LIST = ["--v3", "chat", "--list-sessions"];

const run = (user: KiroUser, runtime?: string) =>
  user.run(LIST, { profile: "v3", ...(runtime !== undefined && { env: { KIRO_RUNTIME_DIR: runtime } }) });

it("unpacks its runtime without a prompt and a login, into the home or the named folder", async () => {
  await using user = await createKiroUser({ login: false });
  const named = join(user.host.home, "runtime");

  expect(await run(user)).toMatchObject({ exitCode: 0, stdout: "" });
  expect(await run(user, named)).toMatchObject({ exitCode: 0 });

  const [inHome = ""] = await readdir(join(user.host.dataDir, "kas"));
  expect(inHome).toMatch(/^3\.2\.0-[0-9a-f]{12}$/);
  expect(await readdir(join(named, "kas", inHome))).toEqual(["server"]);
});

it("takes a complete runtime, repairs another, and ends where it can do neither", async () => {
  await using user = await createKiroUser();
  const named = join(user.host.home, "runtime");
  await run(user, named);
  const [version = ""] = await readdir(join(named, "kas"));
  const folder = join(named, "kas", version);
  const complete = await run(user, named);
  await writeFile(join(folder, "server"), "#!/bin/sh\n");
  const repaired = await run(user, named);
  // A file in place of the folder cannot be written to by anybody, root included.
  await rm(join(named, "kas"), { recursive: true });
  await writeFile(join(named, "kas"), "");

  expect([complete.exitCode, repaired.exitCode]).toEqual([0, 0]);
  expect(await run(user, named)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining("Failed to unpack the V3 runtime into"),
  });
});

it("refuses a runtime that it cannot execute", async () => {
  await using user = await createKiroUser();
  await run(user);
  const [version = ""] = await readdir(join(user.host.dataDir, "kas"));
  await chmod(join(user.host.dataDir, "kas", version, "server"), 0o644);

  expect(await run(user)).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/Failed to run .*EACCES/) });
});

it("upgrades the JSON agents of V2 in place, once, and keeps what was there", async () => {
  await using user = await createKiroUser();
  const file = join(user.host.agentsDir, "old.json");
  const hooks = { agentSpawn: [{ command: "true" }] };
  const text = JSON.stringify({ name: "old", tools: ["*"], allowedTools: ["execute_bash"], hooks });
  await writeFile(file, text);

  await run(user);
  await run(user);

  expect(JSON.parse(await readFile(file, "utf8"))).toEqual({
    name: "old",
    tools: ["*"],
    allowedTools: ["execute_bash"],
    hooks: [{ trigger: "agentSpawn", command: "true" }],
    permissions: { rules: [{ capability: "shell", effect: "allow" }] },
  });
  expect(await readFile(`${file}.bak`, "utf8")).toBe(text);
});

it("passes over agents that it cannot upgrade", async () => {
  await using user = await createKiroUser();
  await writeFile(join(user.host.agentsDir, "broken.json"), "{");
  // Nobody can write a file in place of a folder.
  await mkdir(join(user.host.agentsDir, "reader.json.bak"));

  expect(await run(user)).toMatchObject({ exitCode: 0 });

  expect(await readFile(join(user.host.agentsDir, "reader.json"), "utf8")).not.toContain("permissions");
});

it("upgrades nothing for V2", async () => {
  await using user = await createKiroUser();

  await user.chat("hi", { profile: "v3" });

  expect(existsSync(join(user.host.agentsDir, "reader.json.bak"))).toBe(false);
});
