import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createBudgieUser, toText } from "./helpers/start-budgie.ts";

// The workspace, so that the sandbox has the budgie that was built here.
const directory = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");
const NODE = "/usr/local/lib/kiro-cli/node";
const BUDGIE = `${NODE} /workspace/packages/mcp-server/bin/budgie.js`;
const CALL = `${NODE} /workspace/packages/mcp-server/test/fixtures/call-budgie.mjs shell-worker /tmp /tmp/prompt ${BUDGIE}`;
const CLEARED = 'env -i PATH="$PATH" HOME="$HOME"';
const AWAIT = "for i in $(seq 600); do grep -qE '^(answered|refused)' /tmp/out && break; sleep 0.1; done; cat /tmp/out";

describe("a budgie in a sandbox", () => {
  it.each([
    ["its environment was passed on", CALL],
    ["its environment was cleared", `${CLEARED} ${CALL}`],
    [
      "it left its session, cleared its environment and lost its parents",
      `(${CLEARED} setsid ${CALL} >/tmp/out 2>&1 &); ${AWAIT}`,
    ],
  ])("lists its tools, and refuses every call when %s", async (_how, command) => {
    await using user = await createBudgieUser();
    const { ask } = await user.start({ sandbox: true, args: ["--allow-root", directory] });

    const answer = await ask("shell-worker", { directory, prompt: `[[run: echo Hello >/tmp/prompt; ${command}]]` });

    expect(toText(answer)).toMatch(/^tools: 2\nrefused: TOO_DEEP: An agent started this budgie/m);
  });

  it("answers where the outermost allows it, whatever it asks for itself", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.start({ sandbox: true, args: ["--max-depth", "2", "--allow-root", directory] });
    // The engine has made parts of the home to mount on, which are root's.
    const call = `${CLEARED} ${CALL} --max-depth 99 --sessions-dir /tmp/sessions`;
    const prompt = `[[run: echo '[[env]' >/tmp/prompt; sed -i 's/$/]/' /tmp/prompt; ${call}]]`;

    const answer = await ask("shell-worker", { directory, prompt });

    expect(toText(answer)).toMatch(/^answered: /m);
    expect(toText(answer)).toContain('"BUDGIE_DEPTH":"2","BUDGIE_MAX_DEPTH":"2"');
  });
});
