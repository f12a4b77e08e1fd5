import { expect, it } from "vitest";
import { connectEngine } from "../../src/engine/engine.ts";
import { findImage } from "../../src/image/find-image.ts";
import { createFakeEngine } from "../helpers/fake-engine.ts";

async function find(name: string) {
  await using fake = await createFakeEngine({
    "GET /version": { ApiVersion: "1.41" },
    "GET /info": {},
    "GET /images/registry:5000/a/b:c/json": {
      Id: "sha256:abc",
      Created: "2026-01-02T03:04:05Z",
      Os: "linux",
      Architecture: "arm64",
      Config: {
        Entrypoint: ["/begin"],
        Cmd: ["serve", "-x"],
        Env: ["HOME=/x", "PATH=/opt/bin:/bin", "KIRO_X=1", "LD_PRELOAD=/x", "NODE_OPTIONS=", "no_proxy=*", "OLD_X=1"],
        Labels: { "dev.budgie.tools": "git node@22 <b>", "dev.budgie.programs": "/opt/agents" },
      },
    },
    "GET /images/plain/json": { Id: "sha256:abc", Created: "2026-01-02T03:04:05Z", Config: { Env: null } },
  });
  const engine = await connectEngine(fake.hostEnv, "/nowhere");
  // The engine must outlive the call.
  return await findImage(engine, name);
}

it("finds an image by its name, and keeps the id", async () => {
  expect(await find("registry:5000/a/b:c")).toEqual({
    id: "sha256:abc",
    name: "registry:5000/a/b:c",
    created: new Date("2026-01-02T03:04:05Z"),
    platform: "linux/arm64",
    path: "/opt/bin:/bin",
    volumes: [],
    entrypoint: ["/begin"],
    command: ["serve", "-x"],
    strayVariables: ["KIRO_X", "LD_PRELOAD", "NODE_OPTIONS", "no_proxy"],
    runtimeDir: undefined,
    hasPrograms: true,
    isLikeOriginals: false,
    tools: ["git", "node@22"],
  });
});

it("knows programs that run in other images by their folder alone", async () => {
  expect((await find("plain")).hasPrograms).toBe(false);
});

it("uses the engines' default PATH for an image without one", async () => {
  expect((await find("plain")).path).toBe("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
});

it("names a missing image, and pulls none", async () => {
  await expect(find("other")).rejects.toMatchObject({
    code: "IMAGE_NOT_FOUND",
    message: expect.stringMatching(/"other".*build-image.*the option "image"/),
  });
});
