import { readdirSync } from "node:fs";
import { describeSessionCommands } from "./helpers/describe-session-commands.ts";

describeSessionCommands({
  sandbox: false,
  leftovers: async ({ sessionsDir }) => readdirSync(sessionsDir),
  cleanUp: async () => undefined,
});
