// node copy-database-main.js FOLDER
import { copyDatabase, REFUSED } from "./copy-database.ts";

try {
  await copyDatabase(process.argv[2] ?? "");
} catch (error) {
  process.stderr.write(error instanceof Error ? error.message : String(error));
  process.exitCode = REFUSED;
}
