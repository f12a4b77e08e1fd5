import type { Host } from "@budgie/mcp-server";
import type { Config } from "../../config/config.ts";
import type { ImageActions } from "./image-commands.ts";

type Context = {
  readonly config: () => Config;
  /** The configuration of a command that is about sandboxes */
  readonly sandboxed: () => Config;
  readonly finish: (exitCode: number) => void;
  readonly host: Host;
};

/** Creates the actions of `budgie image`. Each is imported late. */
export function createImageActions({ config, finish, host, sandboxed }: Context): ImageActions {
  return {
    async show(directory, json) {
      const { showImage } = await import("./show-image.ts");
      finish(showImage(config(), directory, { json, host }));
    },
    async allow(directory) {
      const { allowImage } = await import("./allow-image.ts");
      finish(await allowImage(config(), directory, host));
    },
    async deny(directory) {
      const { denyImage } = await import("./deny-image.ts");
      finish(denyImage(config(), directory, host));
    },
    async build(directory) {
      const { buildImage } = await import("./build-image.ts");
      finish(await buildImage(sandboxed(), directory, host));
    },
    async push(options) {
      const { pushImages } = await import("./push-images.ts");
      finish(await pushImages(sandboxed(), options, host));
    },
  };
}
