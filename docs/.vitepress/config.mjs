import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitepress";

const FORGE = "https://github.com/budgie-mcp/budgie/blob/main/";
const README = readFileSync(new URL("../README.md", import.meta.url), "utf8");

// The pages as their readers on the forge find them: headings, names, descriptions.
const sections = [...README.matchAll(/^## (.+)\n\n((?:- .+\n)+)/gm)].map(([, text, list]) => ({
  text,
  pages: [...list.matchAll(/^- \[(.+?)\.md\]\((?!\.\.)(.+?)\.md\): (.+)$/gm)].map(([, name, path, about]) => ({
    name,
    path,
    about,
  })),
}));

const REFERENCE = {
  text: "As the program says it",
  items: ["options", "commands", "error-codes"].map(toReferenceItem),
};

export default defineConfig({
  title: "budgie",
  description: "Coding agents as MCP tools, each call in a hardened container",
  outDir: process.env.BUDGIE_DOCS_DIR ?? "../dist/docs",
  cleanUrls: true,
  rewrites: { "README.md": "index.md" },
  markdown: { config: (markdown) => markdown.core.ruler.push("forge-links", linkToForge) },
  themeConfig: {
    search: { provider: "local" },
    sidebar: [...sections.map(({ pages, text }) => ({ text, items: pages.map(toItem) })), REFERENCE],
    socialLinks: [{ icon: "github", link: "https://github.com/budgie-mcp/budgie" }],
  },
  buildEnd: ({ outDir }) => writeFileSync(join(outDir, "llms.txt"), toLlmsText()),
});

function toItem({ name, path }) {
  return { text: name, link: `/${path}` };
}

function toReferenceItem(page) {
  return { text: page, link: `/reference/${page}` };
}

/** Has links to files beside the documentation lead to the forge. */
function linkToForge({ tokens }) {
  for (const { attrs } of tokens.flatMap(({ children }) => children ?? [])) {
    const href = attrs?.find(([name]) => name === "href");
    const isBeside = href !== undefined && /^(?:\.\.\/|adr$|[\w-]+\.log$)/.test(href[1]);
    if (isBeside) href[1] = `${FORGE}${href[1].startsWith("../") ? href[1].slice(3) : `docs/${href[1]}`}`;
  }
}

/** Lists the pages for programs that read them (llmstxt.org). */
function toLlmsText() {
  const lists = sections.map(({ pages, text }) =>
    [`## ${text}`, "", ...pages.map(({ about, name, path }) => `- [${name}](${path}): ${about}`), ""].join("\n"),
  );
  return `# budgie\n\n> Coding agents as MCP tools, each call in a hardened container\n\n${lists.join("\n")}`;
}
