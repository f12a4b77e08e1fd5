import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { removeProjectImages } from "../../../../runner-docker/src/maintenance/remove-project-images.ts";
import { createReport } from "../../../../runner-docker/src/maintenance/collect-garbage.ts";
import { createCertificateAuthority } from "@budgie/testkit";
import { openEngine } from "../../helpers/engine.ts";
import { TEST_IMAGE, toText } from "../../helpers/start-budgie.ts";
import { createProject } from "./create-project.ts";

const STRAY = "KIRO_API_KEY=image LD_LIBRARY_PATH=/nowhere NODE_OPTIONS=--no-warnings FTP_PROXY=http://evil.test";
const FACTS = [
  "cat /etc/shop /etc/trusted",
  "printenv PROJECT",
  "printenv NODE_EXTRA_CA_CERTS KIRO_API_KEY LD_LIBRARY_PATH NODE_OPTIONS FTP_PROXY",
  "env | grep -c ^HTTPS_PROXY=http://127.0.0.1:3128$",
].join("; ");

describe("the image of a project", () => {
  it("runs a turn once a person has allowed it and it is built, until an agent edits what it is built of", async () => {
    await using authority = await createCertificateAuthority();
    await using project = await createProject();
    onTestFinished(() => removeImages(project).then(() => undefined));
    writeProject(project);
    const { ask } = await project.user.serve({ sandbox: true });
    // The bracket keeps the prompt itself, which Kiro stores, from being found.
    const login = `[[run: grep -c ${project.user.host.canaries.login}-[r]efresh ~/.local/share/kiro-cli/data.sqlite3]]`;

    const before = await ask("shell-worker", { prompt: login });
    const allowed = await project.type(["image", "allow"]);
    const built = await project.type(["image", "build", "--ca-file", authority.file]);
    const inside = await ask("shell-worker", { prompt: `[[run: ${FACTS}]]` });
    const short = await ask("shell-worker", { prompt: login, sessionId: sessionOf(before) });
    const edited = await ask("shell-worker", {
      prompt: `[[run: echo "RUN evil" >> .budgie/Dockerfile; cat /etc/shop]]`,
    });
    const after = await ask("shell-worker", { prompt: `[[run: ${FACTS}]]` });

    expect([allowed.exitCode, built.exitCode]).toEqual([0, 0]);
    expect(toText(before)).toMatch(/^[1-9]/);
    expect(imageOf(before)).toMatchObject({ used: "default", reason: "nobody has allowed it" });
    expect(imageOf(inside)).toMatchObject({ used: "project", reason: "allowed", id: idOf(built.text) });
    expect(toText(inside).split("\n").filter(Boolean)).toEqual([
      "shop",
      "/etc/budgie-build/ca.pem",
      "of-the-image",
      "1",
    ]);
    expect(toText(short)).toMatch(/^0/);
    expect(toText(edited)).toContain("shop");
    expect(imageOf(after)).toMatchObject({ used: "default", reason: "changed since it was allowed" });
    expect(toText(after)).not.toContain("of-the-image");
    expect(JSON.stringify(after.content)).toContain("It ran in the default image, not in the project's");
  });

  it("is removed when no approval names it", async () => {
    await using project = await createProject();
    writeProject(project);
    await project.type(["image", "allow"]);
    const id = idOf((await project.type(["image", "build"])).text);

    const kept = await removeImages(project, [id]);
    const removed = await removeImages(project);

    expect(kept.removed).toEqual([]);
    expect(removed.removed).toMatchObject([
      { kind: "image", name: expect.stringMatching(/^budgie-project:[\da-f]{64}$/) },
    ]);
    await expect((await openEngine()).getImage(id).inspect()).rejects.toMatchObject({ statusCode: 404 });
  });

  it("that cannot be built is none, and the next turn says so", async () => {
    await using project = await createProject();
    project.write("Dockerfile.sandbox", `FROM ${TEST_IMAGE}\nCOPY secret /\n`);
    project.write("secret", "not in the context");
    await project.type(["image", "allow"]);

    const built = await project.type(["image", "build"]);

    expect(built).toMatchObject({ exitCode: 1, text: expect.stringContaining("was not built: ") });
    expect((await project.type(["image", "show"])).text).toContain("allowed, and not built");
  });
});

type Project = Awaited<ReturnType<typeof createProject>>;

function writeProject({ directory, write }: Project): void {
  // A file of its own, so that two tests build two images.
  write(".budgie/setup.sh", `echo shop > /etc/shop # ${directory}`);
  write(
    ".budgie/Dockerfile",
    `FROM ${TEST_IMAGE}\nCOPY setup.sh /tmp/\nRUN sh /tmp/setup.sh && echo "$NODE_EXTRA_CA_CERTS" >/etc/trusted\nENV PROJECT=of-the-image ${STRAY}\n`,
  );
}

/** Removes the project's images but these, and nothing else of the engine. */
async function removeImages({ home }: Project, keep: readonly string[] = []) {
  const report = createReport();
  const stateDir = join(home, ".local/state/budgie");
  await removeProjectImages(await openEngine(), report, { keep, stateDir, policy: { dryRun: false, olderThanMs: 0 } });
  return report;
}

type Result = { readonly structuredContent?: { readonly [key: string]: unknown } | undefined };

function imageOf({ structuredContent }: Result): unknown {
  return structuredContent?.["image"];
}

function sessionOf({ structuredContent }: Result): string {
  return String(structuredContent?.["sessionId"]);
}

function idOf(text: string): string {
  return /\((sha256:\w+)\)/.exec(text)?.[1] ?? "";
}
