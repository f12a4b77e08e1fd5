import { fileURLToPath } from "node:url";

const ARCHITECTURES: Readonly<Record<string, string>> = { "linux/amd64": "amd64", "linux/arm64": "arm64" };

/** The platforms that the forwarder is built for, in Go's names. */
export const FORWARDER_PLATFORMS: readonly string[] = Object.keys(ARCHITECTURES);

/** Finds the forwarder for a platform; `undefined` if it is not built for it. */
export function findForwarder(platform: string): { readonly architecture: string; readonly file: string } | undefined {
  const architecture = ARCHITECTURES[platform];
  if (architecture === undefined) return undefined;
  return { architecture, file: fileURLToPath(new URL(`../../forwarder/linux-${architecture}`, import.meta.url)) };
}
