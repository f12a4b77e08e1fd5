/** Paths inside a sandbox. */
export const SANDBOX = {
  home: "/home/agent",
  workspace: "/workspace",
  auth: "/auth",
  /** The folder of the agents' programs, in the image of `budgie build-image` and beside other images */
  programs: "/opt/agents",
} as const;
