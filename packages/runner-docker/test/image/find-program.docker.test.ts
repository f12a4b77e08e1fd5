import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type Docker from "dockerode";
import { findProgram } from "../../src/image/find-program.ts";
import { BASE_IMAGE, testEngine } from "../helpers/docker-place.ts";
import { buildImage, type TestImage } from "./build-image.ts";

const PLACES = `FROM ${BASE_IMAGE}
RUN set -eu; \\
  mkdir -p /opt/tool/bin /opt/plain /opt/folder/kiro-cli /opt/root/bin /opt/own /opt/links /opt/lost /opt/astray /home/agent/bin; \\
  printf '#!/bin/sh\\n' >/opt/tool/bin/kiro-cli; \\
  cp /opt/tool/bin/kiro-cli /opt/plain; cp /opt/tool/bin/kiro-cli /opt/own; cp /opt/tool/bin/kiro-cli /opt/root/bin; \\
  cp /opt/tool/bin/kiro-cli /home/agent/bin; \\
  chmod 755 /opt/tool/bin/kiro-cli /opt/root/bin/kiro-cli /home/agent/bin/kiro-cli; \\
  chmod 644 /opt/plain/kiro-cli; chmod 700 /opt/own/kiro-cli /opt/root; \\
  ln -s /opt/tool/bin/kiro-cli /opt/links/kiro-cli; ln -s nowhere /opt/lost/kiro-cli; \\
  ln -s /home/agent/bin/kiro-cli /opt/astray/kiro-cli; ln -s tool /opt/other`;

let image: TestImage;
let container: Docker.Container;
beforeAll(async () => {
  image = await buildImage(PLACES);
  container = await (
    await testEngine()
  ).createContainer({ Image: image.name, name: `budgie-test-find-program-${process.pid}`, Cmd: ["true"] });
});
afterAll(async () => {
  await container.remove({ force: true });
  await image[Symbol.asyncDispose]();
});

const find = (path: string, { program = "kiro-cli", uid = 61_000 } = {}) =>
  findProgram(container, { program, path, user: { uid, gid: uid } });

describe("findProgram", () => {
  it.each([
    ["in a folder", "/opt/tool/bin", "/opt/tool/bin/kiro-cli"],
    ["by a link", "/opt/links", "/opt/links/kiro-cli"],
    ["in a folder that a link leads to", "/opt/other/bin", "/opt/other/bin/kiro-cli"],
    ["past what is not there", "/nowhere:/opt/lost:/opt/tool/bin", "/opt/tool/bin/kiro-cli"],
    ["past what cannot be executed", "/opt/plain:/opt/folder:/opt/tool/bin", "/opt/tool/bin/kiro-cli"],
    ["past what others may not execute", "/opt/own:/opt/root/bin:/opt/tool/bin", "/opt/tool/bin/kiro-cli"],
    ["before a folder of the agents'", "/opt/tool/bin:/home/agent/bin", "/opt/tool/bin/kiro-cli"],
  ])("finds a program %s", async (_, path, found) => {
    expect(await find(path)).toBe(found);
  });

  it("finds the shell of most images", async () => {
    expect(await find("", { program: "/bin/sh" })).toBe("/bin/sh");
  });

  it.each([
    ["/nowhere:/opt/plain", /^The image has no "kiro-cli" on its PATH, \/nowhere:\/opt\/plain\.$/],
    [
      "/opt/own",
      /^"\/opt\/own\/kiro-cli" of the image cannot be run by uid 61000.*"\/opt\/own\/kiro-cli"\. Run "chmod/,
    ],
    ["/opt/root/bin", /cannot be run by uid 61000, which has no access to "\/opt\/root"/],
  ])("reports the problem if %j is the whole PATH", async (path, message) => {
    await expect(find(path)).rejects.toThrow(message);
  });

  it("lets root run programs that only root may", async () => {
    expect(await find("/opt/root/bin", { uid: 0 })).toBe("/opt/root/bin/kiro-cli");
    expect(await find("/opt/own", { uid: 0 })).toBe("/opt/own/kiro-cli");
  });

  it.each(["", ".", "bin", "/home/agent/bin", "/opt/../workspace", "/tmp", "/opt/astray"])(
    "accepts none from %j, which agents or repositories fill",
    async (folder) => {
      await expect(find(`${folder}:/opt/tool/bin`)).rejects.toThrow(/agents or repositories can put a "kiro-cli"/);
    },
  );

  it.each([
    ["/opt/tool/bin/kiro-cli", "/opt/tool/bin/kiro-cli"],
    ["/opt/none/kiro-cli", /^The image has no "\/opt\/none\/kiro-cli"\.$/],
    ["./kiro-cli", /agents or repositories can put/],
  ])("looks for the program %s only there", async (program, expected) => {
    const found = await find("/opt/tool/bin", { program }).catch(({ message }: Error) => message);

    if (typeof expected === "string") expect(found).toBe(expected);
    else expect(found).toMatch(expected);
  });
});
