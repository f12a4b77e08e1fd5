import { describeMarkdownAgents } from "./describe-markdown-agents.ts";

describeMarkdownAgents("a Markdown agent in a sandbox", { sandbox: true });
