import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { createFolder } from "../helpers.ts";

const reserveTurns = fileURLToPath(new URL("../fixtures/reserve-turns.mjs", import.meta.url));

it("Five processes that reserve 1,000 turns at once may begin as many as the limit, and after their death none more", async () => {
  const stateDir = createFolder();

  const all = await reserveAtOnce(stateDir, 5);
  const later = await reserveAtOnce(stateDir, 1);

  expect([...all, ...later].map(({ errors }) => errors).join("")).toBe("");
  expect(all.reduce((sum, { begun }) => sum + begun, 0)).toBe(400);
  expect(later[0]?.begun).toBe(0);
});

/** Lets processes reserve 200 turns each, against a limit for 400. */
async function reserveAtOnce(stateDir: string, processes: number) {
  const children = await Promise.all(
    Array.from({ length: processes }, async () => {
      const child = spawn(process.execPath, [reserveTurns, stateDir, "200", "400"]);
      await once(child.stdout, "data");
      return { child, out: text(child.stdout), errors: text(child.stderr) };
    }),
  );
  for (const { child } of children) child.stdin.write("go\n");
  return Promise.all(children.map(async ({ errors, out }) => ({ begun: Number(await out), errors: await errors })));
}
