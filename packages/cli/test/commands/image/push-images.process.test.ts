import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadVersion } from "@budgie/mcp-server";
import { createInstallUser, type InstallUser } from "../install/create-install-user.ts";

const NAME = "registry.test:5000/team/budgie";
const DIGEST = `sha256:${"a".repeat(64)}`;

/** Puts a program on the PATH that notes its words, lists the context of a build, and says what a test wants. */
function stub({ home, write }: InstallUser, name: string, says: string): Readonly<Record<string, string>> {
  const file = join(home, "bin", name);
  const list =
    'if [ "$1" = build ]; then for last; do :; done; (cd "$last" && find . -type f -printf "%m %p\\n" | sort) >"$HOME/context"; fi';
  write(file, `#!/bin/sh\nprintf '%s\\n' "$*" >>"$HOME/words"\n${list}\n${says}\n`);
  chmodSync(file, 0o755);
  return { HOME: home, PATH: `${join(home, "bin")}:/usr/bin:/bin` };
}

const wordsOf = ({ home }: InstallUser) => readFileSync(join(home, "words"), "utf8").trimEnd().split("\n");

describe("budgie image push", () => {
  it("builds budgie's own image from the package, and pushes it and the sandbox's", async () => {
    using user = createInstallUser();
    const env = stub(user, "docker", `echo "latest: digest: ${DIGEST} size: 1"`);

    const { exitCode, stdout } = await user.run(["image", "push", `${NAME}:mine`], env);

    const own = `${NAME}:budgie-${loadVersion()}`;
    expect(wordsOf(user)).toEqual([
      expect.stringMatching(new RegExp(`^build --tag ${own} /`)),
      `tag budgie-sandbox:latest ${NAME}:mine`,
      `push ${NAME}:mine`,
      `push ${own}`,
    ]);
    expect(user.read(join(user.home, "context"))).toBe(
      [
        "644 ./Dockerfile",
        ...["forwarder", "hold", "pod.cjs", "profile.bpf"].map((name) => `755 ./budgie/${name}`),
        "",
      ].join("\n"),
    );
    expect(stdout).toContain(`budgie config set sandboxImage ${NAME}@${DIGEST}\n`);
    expect(exitCode).toBe(0);
  });

  it("asks podman for the digest in a file", async () => {
    using user = createInstallUser();
    const env = stub(user, "podman", `case "$*" in *--digestfile*) printf ${DIGEST} >"$3";; esac`);

    const { stdout } = await user.run(["image", "push", NAME], { ...env, PATH: `${join(user.home, "bin")}:/bin/none` });

    expect(stdout).toContain(`kubernetesSidecarImage ${NAME}@${DIGEST}\n`);
  });

  it("stops at the step that fails", async () => {
    using user = createInstallUser();
    const env = stub(user, "docker", 'if [ "$1" = tag ]; then echo "No such image" >&2; exit 1; fi');

    expect((await user.run(["image", "push", NAME, "--image", "gone"], env)).exitCode).toBe(1);
    expect(wordsOf(user).at(-1)).toBe(`tag gone ${NAME}:agents`);
  });

  it.each(["budgie", "registry.test/Team", "--rm", "registry.test/team@sha256:1", "a/b:c:d"])(
    "refuses the name %j",
    async (name) => {
      using user = createInstallUser();

      await expect(user.run(["image", "push", "--", name])).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    },
  );

  it("names what is missing without a program that pushes", async () => {
    using user = createInstallUser();

    await expect(user.run(["image", "push", NAME], { PATH: "/none" })).rejects.toThrow(
      /no program "docker" or "podman"/,
    );
  });
});
