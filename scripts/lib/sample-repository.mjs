import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const BUG = "WHERE name = '${name}'";

/** Creates a folder with a few lines of code to review. */
export async function createSampleRepository() {
  const path = await mkdtemp(join(tmpdir(), "budgie demo, a repository: "));
  await writeFile(join(path, "README.md"), "# Log-in service\n");
  await writeFile(join(path, "login.js"), `export const find = (name) => db.query(\`SELECT * FROM users ${BUG}\`);\n`);
  return { path, bug: BUG, remove: () => rm(path, { recursive: true, force: true }) };
}
