import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createBudgieUser, toText } from "./helpers/start-budgie.ts";

// This checkout is the workspace, so that the sandbox contains this build of budgie.
const directory = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");
const NODE = "/usr/local/lib/kiro-cli/node";
const BUDGIE = `${NODE} /workspace/packages/cli/bin/budgie.js`;
const CALL = `${NODE} /workspace/packages/cli/test/fixtures/call-budgie.mjs shell-worker /tmp /tmp/prompt ${BUDGIE}`;
const CLEARED = 'env -i PATH="$PATH" HOME="$HOME"';
const AWAIT = "for i in $(seq 600); do grep -qE '^(answered|refused)' /tmp/out && break; sleep 0.1; done; cat /tmp/out";

// The marks lie on the stacks of the processes, including the container's first one.
const OVERWRITTEN = `perl -e 'for my $folder (glob "/proc/[0-9]*") {
  open(my $maps, "<", "$folder/maps") or next;
  my ($from, $to) = map { /^([0-9a-f]+)-([0-9a-f]+) .*stack/ ? (hex $1, hex $2) : () } <$maps>;
  open(my $memory, "+<", "$folder/mem") or next;
  sysseek($memory, $from, 0) && sysread($memory, my $stack, $to - $from) or next;
  while ($stack =~ /BUDGIE_(?=DEPTH=|MAX_DEPTH=)/g) { sysseek($memory, $from + $-[0], 0); syswrite($memory, "X") }
}'; ! grep -q BUDGIE_DEPTH /proc/1/environ && echo overwritten`;

describe("a budgie in a sandbox", () => {
  it.each([
    ["its environment was passed on", CALL],
    ["its environment was cleared", `${CLEARED} ${CALL}`],
    [
      "it left its session, cleared its environment and lost its parents",
      `(${CLEARED} setsid ${CALL} >/tmp/out 2>&1 &); ${AWAIT}`,
    ],
  ])("offers no tools, and refuses every call when %s", async (_how, command) => {
    await using user = await createBudgieUser();
    const { ask } = await user.start({ sandbox: true, args: ["--allow-root", directory] });

    const answer = await ask("shell-worker", { directory, prompt: `[[run: echo Hello >/tmp/prompt; ${command}]]` });

    expect(toText(answer)).toMatch(/^tools: 0\nrefused: TOO_DEEP: An agent started this budgie/m);
  });

  it("refuses every call even if the marks of all processes around it were overwritten in memory", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.start({ sandbox: true, args: ["--allow-root", directory] });
    const script = `#!/bin/sh\n${OVERWRITTEN}\n${CLEARED} ${CALL}\n`;
    const encoded = Buffer.from(script).toString("base64");
    const run = `echo Hello >/tmp/prompt; echo ${encoded} | base64 -d >/tmp/script; sh /tmp/script`;

    const answer = await ask("shell-worker", { directory, prompt: `[[run: ${run}]]` });

    expect(toText(answer)).toMatch(/^overwritten\n(?:.*\n)*refused: TOO_DEEP/);
  });

  it("answers if the outermost budgie allows it, whatever options it has itself", async () => {
    await using user = await createBudgieUser();
    const { ask } = await user.start({ sandbox: true, args: ["--max-depth", "2", "--allow-root", directory] });
    // The engine has created parts of the home as mount points, which root owns.
    const call = `${CLEARED} ${CALL} --max-depth 99 --sessions-dir /tmp/sessions`;
    const prompt = `[[run: echo '[[env]' >/tmp/prompt; sed -i 's/$/]/' /tmp/prompt; ${call}]]`;

    const answer = await ask("shell-worker", { directory, prompt });

    expect(toText(answer)).toMatch(/^answered: /m);
    expect(toText(answer)).toContain('"BUDGIE_DEPTH":"2","BUDGIE_MAX_DEPTH":"2"');
  });
});
