import { spawn } from "node:child_process";

export type BrowserHost = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
};

/** Has the user's browser open an address, if there is one. Nobody hears whether it does. */
export function openBrowser(address: string, { env, platform }: BrowserHost): void {
  const [command, ...args] = toCommand({ env, platform });
  if (command === undefined) return;
  const child = spawn(command, [...args, address], { env, stdio: "ignore", detached: true, windowsHide: true });
  child.on("error", () => undefined);
  child.unref();
}

function toCommand({ env, platform }: BrowserHost): readonly string[] {
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  // Without a display it would be a browser for terminals, or nothing.
  return (env["DISPLAY"] ?? env["WAYLAND_DISPLAY"] ?? "") === "" ? [] : ["xdg-open"];
}
