import { describe, expect, it } from "vitest";
import type { Agent, AllowedHost, EgressPolicy } from "@budgie/core";
import { buildTools } from "../../../src/mcp/tools/build-tools.ts";
import { createAgent, POLICY, TOOL_OPTIONS } from "../../../../cli/test/helpers/create-agent.ts";

const host = (name: string, from: string, port = 443): AllowedHost => ({ host: name, port, address: undefined, from });
const listed = (...hosts: readonly AllowedHost[]): EgressPolicy => ({ mode: "allowlist", hosts });
const many = Array.from({ length: 10 }, (_, at) => host(`${at}.test`, "--allow-host"));

describe("the description of an agent in a sandbox", () => {
  it.each<[string, EgressPolicy, string]>([
    ["no network", { mode: "none", hosts: [] }, "has no network"],
    ["the engine's network", { mode: "bridge", hosts: [] }, "reaches every host"],
    ["an open network", { mode: "open", hosts: [] }, "reaches every public host"],
    ["an empty list", listed(), "reaches no host"],
    [
      "presets and hosts",
      listed(host("a.kiro.dev", "preset kiro"), host("b.kiro.dev", "preset kiro"), host("x.test", "--allow-host", 80)),
      "reaches only the hosts of kiro, x.test:80",
    ],
    [
      "many hosts",
      listed(...many),
      "reaches only 0.test, 1.test, 2.test, 3.test, 4.test, 5.test, 6.test, 7.test and 2 more",
    ],
  ])("says what it can do with %s", (_what, egress, network) => {
    const workspace = egress.mode === "none" ? "rw" : "ro";
    const access = workspace === "rw" ? "may change the directory" : "may only read the directory";
    const ending = `\n\nIt runs in a sandbox: it ${access}, ${network}, and has 5m.`;
    const ceiling = { ...POLICY, workspace, egress, timeoutMs: 300_000 } as const;
    const options = { ...TOOL_OPTIONS, policies: { ceiling, agents: new Map() } };
    const [inside, outside] = [true, false].map((sandbox) =>
      buildTools([createAgent("writer")], { ...options, sandbox }),
    );

    const { description = "" } = inside?.find(({ purpose }) => purpose.kind === "agent")?.definition ?? {};
    expect(description).toContain(ending);
    expect(JSON.stringify(outside)).not.toContain("sandbox:");
  });

  it.each([
    ["of all agents", {}, / Its image says that it has git, node@22\.$/],
    ["of its own", { program: { image: "own" } }, / Its image says that it has go@1\.25\.$/],
    ["of its own, which names none", { program: { image: "bare" } }, /and has 1s\.$/],
  ])("names the tools of the image %s", (_, given, ending) => {
    const agent = { ...createAgent("writer"), ...given } as Agent;
    const options = {
      ...TOOL_OPTIONS,
      markUntrusted: false,
      sandbox: true,
      tools: "both" as const,
      imageTools: ["git", "node@22"],
      toolsOfImages: new Map([["own", ["go@1.25"]]]),
    };
    const tools = buildTools([agent], options);

    const [own] = tools.filter(({ purpose }) => purpose.kind === "agent");
    expect(own?.definition.description).toMatch(ending);
    const listed = tools.flatMap(({ purpose }) => (purpose.kind === "list-agents" ? purpose.agents : []));
    expect(listed.map(({ sandbox }) => sandbox)).toEqual([expect.stringMatching(ending)]);
  });
});
