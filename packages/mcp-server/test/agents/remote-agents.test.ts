import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { BudgieError } from "@budgie/core";
import { loadConfigFile } from "../../../cli/src/config/config-file.ts";
import { parseConfig } from "../../../cli/src/config/config.ts";
import { checkSandboxOptions } from "../../src/config/check-sandbox-options.ts";
import { fillHeaders, listVariables } from "../../src/agents/fill-headers.ts";
import { toSilentHost } from "../../../cli/test/helpers/to-silent-host.ts";

const folder = mkdtempSync(join(tmpdir(), "budgie-remote-"));
afterAll(() => rmSync(folder, { recursive: true }));

function load(section: Readonly<Record<string, unknown>>) {
  const file = join(folder, "budgie.json");
  writeFileSync(file, JSON.stringify({ agents: { k8s: { protocol: "a2a", ...section } } }));
  return loadConfigFile(file, folder);
}

const WHOLE = { description: "Knows the cluster.", url: "https://agents.example.com/k8s" };

describe("the section of an agent elsewhere", () => {
  it("defines it, and says to callers what it does not get", () => {
    const { agents, configuredAgents, maxConcurrent } = load({ ...WHOLE, timeout: "5m", maxConcurrent: 2 });

    expect(configuredAgents).toMatchObject([
      {
        name: "k8s",
        description: expect.stringMatching(/^Knows the cluster\.\n\nIt runs elsewhere and gets the prompt alone/),
        remote: { url: WHOLE.url, headers: {}, allowRemote: false },
      },
    ]);
    expect(agents.get("k8s")).toEqual({ timeoutMs: 300_000 });
    expect(maxConcurrent).toEqual(new Map([["k8s", 2]]));
  });

  it.each([
    ["workspace", "ro"],
    ["egress", "none"],
    ["limits", { memory: "1g" }],
    ["command", "k8s-acp"],
    ["env", ["TOKEN"]],
  ])("has no %s, which nothing would enforce elsewhere", (key, value) => {
    expect(() => load({ ...WHOLE, [key]: value })).toThrow(`a key that is unknown in "agents.k8s": "${key}"`);
  });

  it.each([
    ["ftp://agents.example.com"],
    ["agents.example.com"],
    ["https://user:s3cret@agents.example.com"],
    ["https://agents.example.com/?key=s3cret"],
  ])("refuses the address %s", (url) => {
    const error = toError(() => load({ ...WHOLE, url }));

    expect(error).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringContaining('"agents.k8s.url"') });
    expect(error.message).not.toContain("s3cret");
  });

  it.each([["Content-Type"], ["host"], ["A2A-Version"], ["Transfer-Encoding"], ["a b"], ["a\nb"]])(
    "refuses the header %j",
    (name) => {
      expect(() => load({ ...WHOLE, headers: { [name]: "x" } })).toThrow(/"agents\.k8s\.headers/);
    },
  );
});

describe("the section of a kagent backend", () => {
  const loadKagent = (kagent: unknown) => {
    const file = join(folder, "kagent.json");
    writeFileSync(file, JSON.stringify({ kagent }));
    return { file, config: loadConfigFile(file, folder).kagent };
  };

  it("has an address and headers", () => {
    const { config } = loadKagent({ url: "http://127.0.0.1:8083" });

    expect(config).toEqual({ url: "http://127.0.0.1:8083", headers: {}, allowRemote: false });
  });

  it("is refused with a sandbox, unless it says that it may be called", () => {
    const check = (allowRemote: boolean): void => {
      const { file } = loadKagent({ url: "http://127.0.0.1:8083", allowRemote });
      const host = toSilentHost({ cwd: folder, home: folder });
      checkSandboxOptions(parseConfig({ config: file, sandbox: true }, host), host);
    };

    expect(() => check(false)).toThrow('The agents of "kagent" run elsewhere');
    expect(() => check(true)).not.toThrow();
  });
});

describe("the values of headers", () => {
  const headers = { authorization: "Bearer $TOKEN", "x-user": "${USER}@example.com", "x-price": "5$" };

  it("name variables, in either of two spellings", () => {
    expect(listVariables(headers)).toEqual(["TOKEN", "USER"]);
    expect(fillHeaders(headers, { TOKEN: "t0ken$USER", USER: "me" }, "It")).toEqual({
      authorization: "Bearer t0ken$USER",
      "x-user": "me@example.com",
      "x-price": "5$",
    });
  });

  it("of unset variables are an error that names these", () => {
    expect(toError(() => fillHeaders(headers, { TOKEN: "" }, "It"))).toMatchObject({
      code: "LOGIN_REQUIRED",
      message: expect.stringContaining("needs TOKEN, USER"),
    });
  });

  it("that no header can have are an error without them", () => {
    const error = toError(() => fillHeaders(headers, { TOKEN: "t0ken\r\nx-evil: 1", USER: "me" }, "It"));

    expect(error).toMatchObject({ code: "LOGIN_REQUIRED", message: expect.stringContaining('"authorization"') });
    expect(error.message).not.toMatch(/t0ken|evil/);
  });
});

function toError(work: () => unknown): BudgieError {
  try {
    work();
  } catch (error) {
    if (error instanceof BudgieError) return error;
  }
  throw new Error("Expected a BudgieError.");
}
