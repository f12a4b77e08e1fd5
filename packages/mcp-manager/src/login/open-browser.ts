import { spawn } from "node:child_process";

export type BrowserHost = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
};

/** Opens an address in the user's browser, if there is one. Ignores failures. */
export function openBrowser(address: string, { env, platform }: BrowserHost): void {
  const [command, ...args] = chooseCommand({ env, platform });
  if (command === undefined) return;
  const child = spawn(command, [...args, address], { env, stdio: "ignore", detached: true, windowsHide: true });
  child.on("error", () => undefined);
  child.unref();
}

function chooseCommand({ env, platform }: BrowserHost): readonly string[] {
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  // Without a display, `xdg-open` would start a terminal browser, or nothing.
  return (env["DISPLAY"] ?? env["WAYLAND_DISPLAY"] ?? "") === "" ? [] : ["xdg-open"];
}
