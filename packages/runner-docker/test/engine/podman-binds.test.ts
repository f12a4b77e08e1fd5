import { expect, it } from "vitest";
import { withPodmanBinds } from "../../src/engine/podman-binds.ts";

const bind = (Source: string, ReadOnly?: boolean) => ({
  Type: "bind" as const,
  Source,
  Target: "/workspace",
  ...(ReadOnly ? { ReadOnly } : {}),
});
const volume = { Type: "volume" as const, Source: "v", Target: "/home" };

it.each([
  ["a plain path as a mount", bind("/a b/ü"), [volume, bind("/a b/ü")], []],
  ["a colon as a mount", bind("/a:b"), [volume, bind("/a:b")], []],
  ["a comma as a bind string", bind("/a,b"), [volume], ["/a,b:/workspace:rw"]],
  ["a quote as a read-only bind string", bind('/a"b', true), [volume], ['/a"b:/workspace:ro']],
])("hands %s", (...[, given, Mounts, Binds]) => {
  const options = withPodmanBinds({ Image: "i", HostConfig: { Memory: 1, Mounts: [volume, given] } });

  expect(options).toEqual({ Image: "i", HostConfig: { Memory: 1, Mounts, Binds } });
});

it("refuses a path that fits neither way, by name", () => {
  expect(() => withPodmanBinds({ HostConfig: { Mounts: [bind("/a,b:c")] } })).toThrow(
    expect.objectContaining({ code: "WORKSPACE_INVALID", message: expect.stringContaining('"/a,b:c"') }),
  );
});
