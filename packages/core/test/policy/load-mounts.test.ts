import { describe, expect, it } from "vitest";
import { parseMounts, listOtherNames, listShownPlaces } from "../../src/policy/load-mounts.ts";

const TABLE = `21 26 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw
22 26 0:5 / /proc rw - proc proc rw
26 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
27 26 8:2 /@home /home rw - btrfs /dev/sda2 rw
28 26 8:2 /@home/me /srv/my\\040home rw - btrfs /dev/sda2 rw
29 26 8:2 / /mnt/disk rw - btrfs /dev/sda2 rw
30 27 8:2 /@home/me/.config/gh /home/me/code/app/gh rw - btrfs /dev/sda2 rw
31 26 0:5 / /srv/chroot/proc rw - proc proc rw
32 26 0:4 net:[4026532175] /run/netns/one rw - nsfs nsfs rw
33 26 8:9 / /over rw - ext4 /dev/sdc1 rw
34 26 8:1 /below /over rw - ext4 /dev/sda1 rw
`;
const MOUNTS = parseMounts(TABLE);

const pathsOf = (directory: string) =>
  listShownPlaces(directory, MOUNTS)
    .map(({ path }) => path)
    .filter((path) => path !== directory);

describe("parseMounts", () => {
  it("reads names with spaces, and leaves out mounts that are no directories", () => {
    expect(MOUNTS.map(({ point }) => point)).toContain("/srv/my home");
    expect(MOUNTS.map(({ point }) => point)).not.toContain("/run/netns/one");
  });
});

describe("listShownPlaces", () => {
  it("finds both names of a directory that is mounted in two places, from either", () => {
    expect(pathsOf("/srv/my home/.ssh")).toEqual(["/home/me/.ssh", "/mnt/disk/@home/me/.ssh"]);
    expect(pathsOf("/home/me/.ssh")).toContain("/srv/my home/.ssh");
  });

  it("finds other mounts of a part of the directory", () => {
    expect(pathsOf("/mnt/disk")).toEqual(expect.arrayContaining(["/home", "/srv/my home"]));
  });

  it("finds all that is mounted below the directory", () => {
    expect(pathsOf("/home/me/code/app")).toContain("/home/me/.config/gh");
    expect(pathsOf("/srv/chroot")).toContain("/proc");
  });

  it("uses the last of several mounts in one place", () => {
    expect(pathsOf("/over/x")).toEqual(["/below/x"]);
  });

  it("finds nothing if nothing is mounted twice", () => {
    expect(pathsOf("/opt/project")).toEqual([]);
    expect(listShownPlaces("/opt/project", [])).toEqual([]);
  });
});

describe("listOtherNames", () => {
  it("leaves out mounts in the directory or from it", () => {
    expect(listOtherNames("/home/me/code", MOUNTS)).toEqual([
      "/home/me/code",
      "/srv/my home/code",
      "/mnt/disk/@home/me/code",
    ]);
  });
});
