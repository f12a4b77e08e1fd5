import { describe, expect, it } from "vitest";
import { listExtraGroups, buildPasswd, chooseSandboxUser, listUserNotices } from "../../src/profile/sandbox-user.ts";

describe("chooseSandboxUser", () => {
  it.each([
    ["an ordinary caller", { uid: 1000, gid: 1001 }, "same", { uid: 1000, gid: 1001 }],
    ["root", { uid: 0, gid: 0 }, "same", { uid: 0, gid: 0 }],
    ["the caller of a rootless engine", { uid: 1000, gid: 1000 }, "rootless", { uid: 0, gid: 0 }],
    ["a caller whom the engine maps to another user", { uid: 1000, gid: 1001 }, "remapped", { uid: 1000, gid: 1001 }],
    ["a system without ids", { uid: undefined, gid: undefined }, "same", { uid: 1000, gid: 1000 }],
  ] as const)("gives the ids of %s", (...[, caller, users, user]) => {
    expect(chooseSandboxUser(caller, users)).toEqual(user);
  });
});

describe("listUserNotices", () => {
  it("warns root that agents run as uid 0", () => {
    expect(listUserNotices({ uid: 0, gid: 0 })).toEqual([expect.stringMatching(/uid 0 .* every capability dropped/)]);
  });

  it("warns everybody if the engine remaps users", () => {
    expect(listUserNotices({ uid: 1000, gid: 1000 }, "remapped")).toEqual([expect.stringMatching(/remaps user ids/)]);
  });

  it.each([1000, undefined])("has no notice for uid %s", (uid) => {
    expect(listUserNotices({ uid, gid: 1000 })).toEqual([]);
  });
});

describe("listExtraGroups", () => {
  const user = { uid: 1000, gid: 1000 };

  it.each([
    ["gives the workspace's group to a caller who is in it", 50, [20, 50], ["50"]],
    ["gives no group that the caller is not in", 50, [20], []],
    ["gives no group twice", 1000, [1000, 50], []],
  ])("%s", (...[, workspaceGid, callerGroups, groups]) => {
    expect(listExtraGroups(workspaceGid, user, callerGroups)).toEqual(groups);
  });
});

describe("buildPasswd", () => {
  it("names the uid and its home", () => {
    expect(buildPasswd({ uid: 1234, gid: 99 })).toMatch(/^agent:x:1234:99:agent:\/home\/agent:\/bin\/sh$/m);
  });

  it("gives uid 0 the sandbox's home, in its only line", () => {
    expect(buildPasswd({ uid: 0, gid: 0 })).toBe("root:x:0:0:root:/home/agent:/bin/sh\n");
  });
});
