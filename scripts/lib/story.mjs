// The demo's output: steps, quoted answers and checks.

let broken = 0;

export const failures = () => broken;

export function say(text) {
  console.log(`\n${text}`);
}

export function quote(text) {
  for (const line of text.trimEnd().split("\n")) console.log(`  | ${line}`);
}

export function check(kept, promise) {
  if (!kept) broken += 1;
  console.log(`  ${kept ? "ok  " : "FAIL"} ${promise}`);
}

/** Lets an agent try what a sandbox must allow and must refuse, and checks the results. */
export async function checkSandbox(ask, { home }, directory) {
  let session = {};
  for (const { promise, command, expected } of toAttempts(home)) {
    const prompt = `Look around. [[run: ${command}]]`;
    const { response, sessionId } = await ask("shell-worker", { directory, prompt, ...session });
    session = { sessionId };
    check(expected.test(response), promise);
    quote(`$ ${command}\n${response}`);
  }
}

function toAttempts(home) {
  return [
    { promise: "It sees the repository", command: "ls /workspace", expected: /^README\.md\s+login\.js$/ },
    { promise: "It may write there", command: "echo from the sandbox >/workspace/note.txt; echo $?", expected: /^0$/ },
    {
      promise: "It finds no key and no cloud login, under any path",
      command: `cat ${home}/.ssh/id_rsa ~/.ssh/id_rsa ${home}/.aws/credentials`,
      expected: /^(?:.*No such file or directory\n?){3}$/,
    },
    {
      // The brackets keep the command from matching its own text.
      promise: "No secret of the host is in any file: keys, MCP tokens, other agents, shell history, conversations",
      command:
        "grep -rslE 'cana[r]y-(ssh|aws|mcp|other|history|state)|cana[r]yconversation' /home /auth /workspace /tmp /etc /var || echo none",
      expected: /^none$/,
    },
    {
      promise: "It has no capabilities, and can gain none",
      command: "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status",
      expected: /CapEff:\s0+\nCapBnd:\s0+\nNoNewPrivs:\s1\nSeccomp:\s2$/,
    },
    { promise: "It cannot change the system", command: "touch /usr/bin/evil", expected: /Read-only file system/ },
    {
      promise: "It cannot reach the engine's socket",
      command: "ls /var/run/docker.sock",
      expected: /No such file or directory/,
    },
    { promise: "It sees no process of the host", command: "cat /proc/[0-9]*/comm", expected: /^(?!.*dockerd)/s },
  ];
}
