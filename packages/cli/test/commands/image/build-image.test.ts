import { expect, it } from "vitest";
import { createFakeEngine, WHOLE_ENGINE } from "../../../../runner-docker/test/helpers/fake-engine.ts";
import { createProject } from "./create-project.ts";

const id = (digit: string): string => `sha256:${digit.repeat(64)}`;
const reply = (Id: string) => ({ status: 200, body: { Id } });

it("an image is built only on the images that the engine had when it was allowed, or fetched for its first build", async () => {
  await using project = await createProject();
  project.write(".budgie/Dockerfile", "FROM base\nCOPY --from=tools /x /x\n");
  const { key } = JSON.parse((await project.type(["image", "show", "--json"])).text) as { readonly key: string };
  const gone = { status: 404, body: {} };
  await using engine = await createFakeEngine({
    "GET /version": { ApiVersion: "1.41" },
    "GET /info": WHOLE_ENGINE,
    "POST /build": { stream: "built" },
    [`GET /images/budgie-project:${key}/json`]: { Id: id("f") },
    // Allowed, before the first build, after it, before the second one, allowed again, and so on.
    "GET /images/base/json": [reply(id("1")), reply(id("1")), reply(id("1")), reply(id("2"))],
    "GET /images/tools/json": [gone, gone, reply(id("3"))],
  });
  const type = (command: string) => project.type(["image", command], "y", engine.hostEnv);
  const countBuilds = (): number => engine.requests.filter((request) => request.startsWith("POST /build")).length;

  const allowed = await type("allow");
  const first = await type("build");
  const second = await type("build");
  const buildsBefore = countBuilds();
  const again = await type("allow");
  const third = await type("build");

  expect(allowed.text).toContain(`base (${id("1")}), tools\n`);
  expect(first.text).toContain("Built the image");
  expect(second.exitCode).toContain(
    '"base", which it is built on, is no longer there, or is not the image that it was when you allowed it',
  );
  expect(buildsBefore).toBe(1);
  expect(again.text).toContain(`base (${id("2")}), tools (${id("3")})\n`);
  expect(third.text).toContain("Built the image");
  expect(countBuilds()).toBe(2);
});

it("a build that fails behind a network that inspects TLS names the option to add", async () => {
  await using project = await createProject();
  project.write(".budgie/Dockerfile", "FROM base\nRUN npm ci\n");
  const errorDetail = { message: "The command '/bin/sh -c npm ci' returned a non-zero code: 1" };
  await using engine = await createFakeEngine({
    "GET /version": { ApiVersion: "1.41" },
    "GET /info": WHOLE_ENGINE,
    "POST /build": { stream: "npm error code SELF_SIGNED_CERT_IN_CHAIN\n", error: errorDetail.message, errorDetail },
  });

  await project.type(["image", "allow"], "y", engine.hostEnv);
  const { exitCode, text } = await project.type(["image", "build"], "y", engine.hostEnv);

  expect(exitCode).toBe(1);
  expect(text).toMatch(/was not built: .*code: 1.*--ca-file FILE\.$/m);
});
