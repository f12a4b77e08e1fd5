import { readdirSync } from "node:fs";
import { describeRestarts } from "./helpers/describe-restarts.ts";

describeRestarts({
  sandbox: false,
  leftovers: async ({ sessionsDir }) => readdirSync(sessionsDir),
  cleanUp: async () => undefined,
});
