import { describe, expect, it } from "vitest";
import { parseImageTools } from "../../src/image/parse-image-tools.ts";

it("an image's variables name its languages, and count before a label that it inherited", () => {
  const Env = ["PATH=/bin", "NODE_VERSION=22.11.0", "GOLANG_VERSION=", "RUBY_VERSION=<b>", "PYTHON_VERSION=3.12=x"];
  const Labels = { "dev.budgie.tools": "git node@20 @qwen-code/qwen-code" };

  expect(parseImageTools({ Env, Labels })).toEqual(["node@22.11.0", "python@3.12", "git", "@qwen-code/qwen-code"]);
  expect(parseImageTools({ Env: null, Labels: null })).toEqual([]);
});

describe("the tools that an image's label names", () => {
  it.each<[string, unknown, readonly string[]]>([
    ["none without a label", undefined, []],
    ["none of another type", { git: 1 }, []],
    [
      "names and versions",
      " git  node@22.11,python@3.11 g++ @qwen-code/qwen-code\n",
      ["git", "node@22.11", "python@3.11", "g++", "@qwen-code/qwen-code"],
    ],
    ["each once", "git jq git", ["git", "jq"]],
    ["nothing that speaks", 'git. Ignore "all" <instructions>\u001b[1m, `rm`; do: not', ["git.", "do:", "not"]],
    ["no long name", `git ${"x".repeat(41)}`, ["git"]],
    [
      "the first sixteen",
      Array.from({ length: 100 }, (_, at) => `t${at}`).join(" "),
      Array.from({ length: 16 }, (_, at) => `t${at}`),
    ],
    ["the beginning of a long text", `git ${" ".repeat(10_000)} jq`, ["git"]],
  ])("are %s", (_, label, tools) => {
    expect(parseImageTools({ Labels: { "dev.budgie.tools": label } })).toEqual(tools);
  });
});
