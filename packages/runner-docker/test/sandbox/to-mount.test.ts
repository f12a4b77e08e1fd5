import { expect, it } from "vitest";
import { readOnlyBind, volumeMount } from "@budgie/sandbox/mounts";
import { toMount } from "../../src/sandbox/to-mount.ts";

it.each([
  ["writable", { isReadOnly: false }, {}],
  ["read-only", {}, { ReadOnly: true }],
  [
    "without the mounts in it",
    { isNonRecursive: true },
    { ReadOnly: true, BindOptions: { Propagation: "rprivate", NonRecursive: true } },
  ],
])("a file or folder of the host is mounted %s", (_, changes, options) => {
  const mount = { ...readOnlyBind("/w", "/workspace"), ...changes };

  expect(toMount(mount)).toEqual({ Type: "bind", Source: "/w", Target: "/workspace", ...options });
});

it.each([true, false])("a volume that an engine would create again is labelled as such, with noCopy %s", (noCopy) => {
  expect(toMount(volumeMount({ name: "the-home", labels: { role: "home" } }, "/home", noCopy))).toEqual({
    Type: "volume",
    Source: "the-home",
    Target: "/home",
    VolumeOptions: {
      NoCopy: noCopy,
      Labels: { role: "home", "dev.budgie.made-for-mount": "1" },
      DriverConfig: { Name: "local", Options: {} },
    },
  });
});

it("a folder in memory has a size, and is writable to all", () => {
  expect(toMount({ type: "memory", target: "/data", bytes: 512 })).toEqual({
    Type: "tmpfs",
    Source: "",
    Target: "/data",
    TmpfsOptions: { SizeBytes: 512, Mode: 0o1777 },
  });
});
