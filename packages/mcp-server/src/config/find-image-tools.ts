import type { Runner } from "@budgie/core";
import type { ServerConfig } from "./server-config.ts";

type ImageTools = Pick<ServerConfig, "imageTools" | "toolsOfImages">;

/** Finds the tools that images name: that of all agents, and those of single ones. */
export async function findImageTools(
  { configuredAgents = [] }: Pick<ServerConfig, "configuredAgents">,
  { imageTools, toolsOf }: Pick<Runner, "imageTools" | "toolsOf">,
): Promise<ImageTools> {
  if (toolsOf === undefined) return { imageTools };
  const images = new Set(configuredAgents.flatMap(({ program }) => program?.image ?? []));
  const found = [...images].map(async (image) => [image, await toolsOf(image)] as const);
  return { imageTools, toolsOfImages: new Map(await Promise.all(found)) };
}
