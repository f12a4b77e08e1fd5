/** Paths inside a sandbox. */
export const SANDBOX = {
  home: "/home/agent",
  workspace: "/workspace",
  auth: "/auth",
  /** The parts of the repository around a subfolder that the session's own git takes its objects from */
  repository: "/repository.git",
  /** The session's own git for a subfolder */
  subfolderGit: "/home/agent/.subfolder.git",
  /** The folder of the agents' programs, in the image of `budgie build-image` and beside other images */
  programs: "/opt/agents",
} as const;
