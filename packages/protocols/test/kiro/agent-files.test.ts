import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findAgentFiles } from "@budgie/protocols/kiro";
import { createUser } from "./kiro-user.ts";

describe("findAgentFiles", () => {
  it("shows a prompt and resources below ~/.kiro where the agent looks for them", () => {
    const user = createUser("shared/role.md", "notes/a.md", "notes/deep/b.md", "notes/c.txt");

    const resources = ["file://~/.kiro/notes/**/*.md", "skill://~/.kiro/notes/c.tx?"];
    const { projections, warnings } = user.find({ prompt: "file://../shared/role.md", resources });

    expect(warnings).toEqual([]);
    expect(user.toShown(projections)).toEqual(["shared/role.md", "notes/a.md", "notes/deep/b.md", "notes/c.txt"]);
    expect(projections).toContainEqual({ source: join(user.home, ".kiro/notes/a.md"), home: ".kiro/notes/a.md" });
  });

  it.each(["file://~/.kiro/shared/role.md", "file://../shared/role.md"])("shows the prompt %s", (prompt) => {
    const user = createUser("shared/role.md");

    expect(user.toShown(user.find({ prompt }).projections)).toEqual(["shared/role.md"]);
  });

  it("needs none for what a sandbox has anyway, and says nothing of files in the workspace", () => {
    const user = createUser("steering/a.md", "sub-agents/prompts/b.md", "agents/own.md");
    symlinkSync("/etc", join(user.home, ".kiro/skills"));

    const resources = [
      "file://README.md",
      "file://.kiro/steering/*.md",
      "file://docs/../README.md",
      "file://~/.kiro/steering/**",
      "file://~/.kiro/sub-agents/prompts/b.md",
      "skill://~/.kiro/skills/hosts",
      "text",
      1,
    ];

    expect(user.find({ prompt: "file://./own.md", resources })).toMatchObject({
      projections: [{ home: ".kiro/agents/a.json" }, { home: ".kiro/agents/own.md" }],
      warnings: [],
    });
  });

  it("follows symlinks only within ~/.kiro, and to nothing that may hold secrets", () => {
    const user = createUser("notes/a.md", "settings/mcp.json");
    const outside = join(user.home, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "secret.md"), "");
    const links = { out: outside, in: join(user.home, ".kiro/notes"), "set.md": "settings/mcp.json" };
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(user.home, ".kiro", name));

    const resources = ["out/secret.md", "out/*", "in/*", "set.md"].map((name) => `file://~/.kiro/${name}`);
    const { projections, warnings } = user.find({ resources });

    expect(user.toShown(projections)).toEqual(["in/a.md"]);
    expect(warnings).toEqual([
      `A sandbox does not show all that the agent "a" names: "file://~/.kiro/out/secret.md" (a symlink leads out of ~/.kiro), ` +
        `"file://~/.kiro/out/*" (a symlink leads out of ~/.kiro), "file://~/.kiro/set.md" (it may hold secrets). Keep it in a ` +
        `folder of its own below ~/.kiro, in the directory of the call, or in the sandbox's image.`,
    ]);
  });

  it("shows a prompt in the folders that every sandbox has, even if they are symlinks out of ~/.kiro", () => {
    const user = createUser("own/p.md");
    const dotfiles = join(user.home, "dotfiles");
    for (const name of ["agents", "steering"]) {
      mkdirSync(join(dotfiles, name), { recursive: true });
      writeFileSync(join(dotfiles, name, "p.md"), "");
      symlinkSync(join(dotfiles, name), join(user.home, ".kiro", name));
    }

    for (const prompt of ["./p.md", "~/.kiro/agents/p.md", "../steering/p.md", "~/.kiro/steering/p.md"].map(toUri)) {
      const { projections, warnings } = user.find({ prompt });
      expect(warnings).toEqual([]);
      expect(projections).toHaveLength(2);
    }
  });

  it("shows a prompt file of the default folder, though another is configured", () => {
    const user = createUser("sub-agents/prompts/p.md");
    const agent = { name: "a", file: join(user.home, ".kiro/agents/a.json"), named: [] };
    const named = [
      {
        uri: "file://../sub-agents/prompts/p.md",
        path: join(user.home, ".kiro/sub-agents/prompts/p.md"),
        of: "prompt",
      },
    ] as const;

    expect(findAgentFiles({ ...agent, named }, { home: user.home, shared: [] })).toMatchObject({
      projections: [{}, { home: ".kiro/sub-agents/prompts/p.md" }],
      warnings: [],
    });
  });

  it("names files elsewhere that the host has, and folders", () => {
    const user = createUser("notes/a.md");
    writeFileSync(join(user.home, "rules.md"), "");

    const resources = [
      "file://~/rules.md",
      `file://${user.home}/*.md`,
      "file://~/.kiro/../rules.md",
      "file://../up.md",
      "file://~/missing.md",
      "file:///no/such/folder/*.md",
      { type: "knowledgeBase", source: "file://~/.kiro/notes" },
      "file://~/.kiro/[ab].md",
    ];
    const [warning = ""] = user.find({ resources }).warnings;

    expect(warning).toContain('"file://~/rules.md" (it is not below ~/.kiro)');
    expect(warning).toContain(`"file://${user.home}/*.md" (it is not below ~/.kiro)`);
    expect(warning).toContain('"file://~/.kiro/../rules.md" (it is not below ~/.kiro)');
    expect(warning).toContain('"file://../up.md" (it is not below ~/.kiro)');
    expect(warning).toContain('"file://~/.kiro/notes" (it is not a file) and 1 more.');
    expect(warning).not.toContain("such");
    expect(user.find({ resources: resources.slice(-1) }).warnings.join("")).toContain(
      "budgie supports only the patterns *, ? and **",
    );
  });

  it.each(["agents", "../mine"])("shows no agent's file as a prompt, with the agents in %s", (folder) => {
    const user = createUser(`${folder}/role.md`);
    for (const name of ["other.json", "other.json.bak"]) user.write(`${folder}/${name}`, "{}");
    user.write(`${folder}/other.md`, "---\nname: other\n---\n");

    for (const name of ["other.json", "other.json.bak", "other.md"]) {
      const { projections, warnings } = user.find({ prompt: `file://./${name}` }, folder);
      expect(projections).toHaveLength(1);
      expect(warnings.join("")).toContain(`"file://./${name}" (it may hold secrets)`);
    }
    expect(user.toShown(user.find({ prompt: "file://./role.md" }, folder).projections)).toEqual(["agents/role.md"]);
  });

  it("shows a prompt that is named by an absolute path, wherever it lies", () => {
    const user = createUser();
    const path = join(user.home, "role.md");

    expect(user.find({ prompt: `file://${path}` })).toMatchObject({
      projections: [{ home: ".kiro/agents/a.json" }, { source: path, home: undefined }],
      warnings: [],
    });
  });

  it("bounds number and size, and what a warning says", () => {
    const user = createUser("big.md", ...Array.from({ length: 70 }, (_, index) => `many/${index}.md`));
    truncateSync(join(user.home, ".kiro/big.md"), 2 ** 20 + 1);
    const resources = [
      "~/.kiro/big.md",
      "~/.kiro/many/*",
      ...Array.from({ length: 20 }, () => `../${"\u202Ex".repeat(500)}`),
    ];

    const { projections, warnings } = user.find({
      resources: resources.map((path, index) => `file://${path}${index < 2 ? "" : index}`),
    });

    expect(user.toShown(projections)).toHaveLength(64);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(
      '"file://~/.kiro/big.md" (it is larger than 1 MiB), "file://~/.kiro/many/*" (there are more than 64)',
    );
    expect(warnings[0]).toContain(" and 17 more.");
    expect(warnings[0]).not.toMatch(/[\p{Control}\u202E]/u);
    expect(warnings[0]?.length).toBeLessThan(1_500);
  });

  it("stops searching a large folder", () => {
    const user = createUser(...Array.from({ length: 2_100 }, (_, index) => `many/${index}`), "z/yes.md");

    expect(user.find({ resources: ["file://~/.kiro/**/*.md"] }).projections).toHaveLength(1);
  });
});

function toUri(path: string): string {
  return `file://${path}`;
}
