import { describe, expect, it } from "vitest";
import { findWorkspacePath } from "../../src/profile/find-workspace-path.ts";

describe("the path of a workspace in its sandbox", () => {
  it("is /workspace, or on request that on the host", () => {
    expect(findWorkspacePath({ directory: "/home/me/code" })).toBe("/workspace");
    expect(findWorkspacePath({ directory: "/home/me/code", workspacePath: "same" })).toBe("/home/me/code");
    expect(findWorkspacePath({ directory: "/home/agents", workspacePath: "same" })).toBe("/home/agents");
    expect(findWorkspacePath({ directory: "/tmp/app", workspacePath: "same" })).toBe("/tmp/app");
  });

  it.each([
    "/home/agent",
    "/home/agent/code",
    "/home",
    "/auth",
    "/workspace/app",
    "/bin/x",
    "/opt",
    "/cache/x",
    "/tmp",
  ])("is refused for %s, which the sandbox needs itself", (directory) => {
    expect(() => findWorkspacePath({ directory, workspacePath: "same" })).toThrow(
      expect.objectContaining({ code: "WORKSPACE_INVALID" }),
    );
  });
});
