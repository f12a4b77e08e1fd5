import { describe, expect, it } from "vitest";
import { listBases } from "../../src/images/list-bases.ts";

describe("the images that a Dockerfile is built on", () => {
  it.each<[string, string, readonly string[]]>([
    ["that of FROM", "FROM node:22\nRUN true\n", ["node:22"]],
    ["without its platform and name", "FROM --platform=linux/amd64 node:22 AS one\n", ["node:22"]],
    ["each once", "FROM a AS one\nFROM a\nCOPY --from=a /x /x\n", ["a"]],
    [
      "no stage and no scratch",
      "FROM a AS One\nFROM one\nFROM scratch\nCOPY --from=ONE /x /x\nCOPY --from=0 /x /x\n",
      ["a"],
    ],
    [
      "those of COPY, before and after other flags",
      "FROM a\nCOPY --chown=1 --from=b /x /x\nCOPY --from=c:1 x y\n",
      ["a", "b", "c:1"],
    ],
    ["an image with a digit as its name", "FROM a\nFROM 0\n", ["a", "0"]],
    ["arguments above FROM", 'ARG V=22\nARG B="node"\nFROM $B:${V}\n', ["node:22"]],
    ["the project's arguments before those", "ARG X=22\nARG W\nFROM node:${X}-$W\n", ["node:20-slim"]],
    ["instructions over several lines", "FROM \\\n# a comment\n  node:22\n", ["node:22"]],
  ])("are %s", (_, dockerfile, names) => {
    expect(listBases(dockerfile, { W: "slim", X: "20" })).toEqual({ names, refused: [] });
  });

  it.each(["FROM ${V:-node}", "FROM $UNKNOWN", "FROM a\nARG V=node\nFROM $V", "ARG V=$W\nFROM $V", 'FROM "a"', "FROM"])(
    "are not guessed in %j",
    (dockerfile) => {
      expect(listBases(dockerfile, {}).refused).toEqual([expect.stringContaining("no plain argument with a value")]);
    },
  );
});
