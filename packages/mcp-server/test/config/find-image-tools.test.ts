import { expect, it } from "vitest";
import type { Agent } from "@budgie/core";
import { findImageTools } from "../../src/config/find-image-tools.ts";

it("the tools of agents' own images are asked for once each, and none without a sandbox", async () => {
  const agent = (image?: string) => ({ program: { image } }) as unknown as Agent;
  const asked: string[] = [];
  const toolsOf = async (image: string) => (asked.push(image), [`${image}-tool`]);
  const config = { configuredAgents: [agent("own"), agent(), agent("own"), agent("other")] };

  const found = await findImageTools(config, { imageTools: ["git"], toolsOf });

  expect(found).toEqual({
    imageTools: ["git"],
    toolsOfImages: new Map([
      ["own", ["own-tool"]],
      ["other", ["other-tool"]],
    ]),
  });
  expect(asked).toEqual(["own", "other"]);
  expect(await findImageTools(config, { imageTools: undefined })).toEqual({ imageTools: undefined });
});
