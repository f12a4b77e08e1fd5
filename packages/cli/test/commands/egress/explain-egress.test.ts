import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startKagentServer } from "@budgie/testkit";
import { createBudgieUser } from "../../helpers/start-budgie.ts";

describe("explainEgress", () => {
  it("says of agents elsewhere that no rule holds them, those of kagent included", async () => {
    await using user = await createBudgieUser();
    await using server = await startKagentServer({ agents: [{ name: "k8s" }] });
    const file = join(user.host.home, "budgie.json");
    const agents = {
      far: { protocol: "a2a", description: "Far.", url: server.url },
      "kagent.later": { timeout: "5m" },
    };
    writeFileSync(file, JSON.stringify({ agents, kagent: { url: server.url } }));

    const far = await user.command(["--config", file, "egress", "explain", "far"]);
    const later = await user.command(["--config", file, "egress", "explain", "kagent.k8s", "--json"]);

    expect(far.stdout).toBe("far: elsewhere, where no rule of this machine holds it\n");
    expect(JSON.parse(later.stdout)).toEqual({ agent: "kagent.k8s", mode: "elsewhere", hosts: [] });
  });

  it("lists no host of Kiro's for another program, unless its section names Kiro", async () => {
    await using user = await createBudgieUser();
    const file = join(user.host.home, "budgie.json");
    const program = { protocol: "acp", description: "Codes.", command: "some-acp" };
    const agents = {
      coder: { ...program, allowPreset: ["codex"] },
      free: program,
      kiro: { ...program, allowPreset: ["kiro"] },
    };
    writeFileSync(file, JSON.stringify({ agents, allowPreset: ["codex"] }));
    const reach = async (agent: string) => {
      const { stdout } = await user.command(["--config", file, "egress", "explain", agent]);
      return new Set(stdout.match(/(?<=preset )\w+/g));
    };

    expect(await reach("coder")).toEqual(new Set(["codex"]));
    expect(await reach("free")).toEqual(new Set(["codex"]));
    expect(await reach("kiro")).toEqual(new Set(["kiro"]));
    expect(await reach("reader")).toEqual(new Set(["codex", "kiro"]));
  });
});
