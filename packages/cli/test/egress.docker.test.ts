import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { listTraces } from "./helpers/engine.ts";
import { createBudgieUser, toText } from "./helpers/start-budgie.ts";

const sandbox = true;

/** Requests a host from the sandbox's proxy like a program would, with only a shell. */
function toPrompt(request: string): string {
  const script = `exec 3<>/dev/tcp/127.0.0.1/3128; printf "${request}" >&3; timeout 10 cat <&3`;
  return `[[run: bash -c '${script}' 2>&1 | tr -d "\\r" | tail -n 3]]`;
}

const CONNECT = "CONNECT refused.test:443 HTTP/1.1\\r\\nHost: refused.test:443\\r\\n\\r\\n";

describe("a sandbox's network access", () => {
  it("reaches allowed hosts; a refused one is in the answer, the run log and the suggestion", async () => {
    await using user = await createBudgieUser();
    const server = createServer((_request, response) => void response.end("from the allowed host")).listen(
      0,
      "127.0.0.1",
    );
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const GET = `GET http://allowed.test:${port}/ HTTP/1.1\\r\\nHost: allowed.test:${port}\\r\\nConnection: close\\r\\n\\r\\n`;
    const allow = ["--allow-host", `allowed.test:${port}=127.0.0.1`];
    const { ask } = await user.serve({ sandbox, args: allow });

    const allowed = await ask("shell-worker", { prompt: toPrompt(GET) });
    const refused = await ask("shell-worker", { prompt: toPrompt(CONNECT) });
    const suggestion = await user.command([...allow, "egress", "suggest"]);
    server.close();

    expect(toText(allowed)).toContain("from the allowed host");
    expect(allowed.structuredContent).toMatchObject({
      egress: { allowed: [{ host: "allowed.test", port, count: 1 }], denied: [] },
    });
    expect(toText(refused)).toContain("refused.test:443: not on the allow-list");
    expect(refused.structuredContent).toMatchObject({
      egress: { allowed: [], denied: [{ host: "refused.test", port: 443, count: 1, why: "not on the allow-list" }] },
      warnings: expect.arrayContaining([expect.stringContaining("refused: refused.test:443 (once).")]),
    });
    expect(suggestion.stdout).toMatch(/--allow-host refused\.test +# refused once by shell-worker; new/);
    expect(suggestion.stdout).toMatch(
      new RegExp(
        `--allow-host allowed\\.test:${port}=127\\.0\\.0\\.1 +# reached once by shell-worker; allowed already: --allow-host`,
      ),
    );
  });

  it("leaves nothing behind", async () => {
    const user = await createBudgieUser();
    const { ask } = await user.serve({ sandbox });
    await ask("shell-worker", { prompt: toPrompt(CONNECT) });

    await user[Symbol.asyncDispose]();

    expect(await listTraces(user)).toEqual([]);
  });

  it("is the engine's own network with --egress bridge, with a warning", async () => {
    await using user = await createBudgieUser();
    const { ask, stderr } = await user.serve({ sandbox, args: ["--egress", "bridge"] });

    const { structuredContent } = await ask("shell-worker", { prompt: "[[say: Hi.]]" });

    expect(stderr()).toContain("budgie: --egress bridge is unsafe: ");
    expect(structuredContent).not.toHaveProperty("egress");
  });
});
