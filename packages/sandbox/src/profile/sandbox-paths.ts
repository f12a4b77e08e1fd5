/** Paths inside a sandbox. */
export const SANDBOX = { home: "/home/agent", workspace: "/workspace", auth: "/auth" } as const;
