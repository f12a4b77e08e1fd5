import { fileURLToPath } from "node:url";

const ARCHITECTURES: Readonly<Record<string, string>> = { "linux/amd64": "amd64", "linux/arm64": "arm64" };

/** What the forwarder is built for, as Go names it. */
export const FORWARDER_PLATFORMS: readonly string[] = Object.keys(ARCHITECTURES);

/** The forwarder for a platform, if it is built for that one. */
export function findForwarder(platform: string): { readonly architecture: string; readonly file: string } | undefined {
  const architecture = ARCHITECTURES[platform];
  if (architecture === undefined) return undefined;
  return { architecture, file: fileURLToPath(new URL(`../../forwarder/linux-${architecture}`, import.meta.url)) };
}
