import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isContainer, openEngine, removeKept } from "../helpers/engine.ts";
import { createBudgieUser, toEngineVariables, toText } from "../helpers/start-budgie.ts";

const FACTS = `[[run: printenv PROJECT TOKEN NODE_ENV; df -m /tmp | awk 'END { print $2 }'; cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null]]`;
const IMAGE = process.env["BUDGIE_TEST_IMAGE"] ?? "budgie-demo:latest";

/** Makes an image that differs from that of all agents in one variable. */
async function makeProjectImage(name: string): Promise<AsyncDisposable> {
  const docker = await openEngine();
  const container = await docker.createContainer({ Image: IMAGE, Cmd: ["true"] });
  await container.commit({ repo: name, tag: "1", changes: "ENV PROJECT=shop" });
  await container.remove();
  return { [Symbol.asyncDispose]: async () => void (await docker.getImage(`${name}:1`).remove()) };
}

describe("a call in a directory with settings of its own", () => {
  it("gets its image, variables and limits, and a call elsewhere gets none of them", async () => {
    const name = `budgie-test-shop-${process.pid}`;
    await using _image = await makeProjectImage(name);
    await using user = await createBudgieUser();
    const shop = join(user.host.home, "shop");
    mkdirSync(join(shop, "src"), { recursive: true });
    const config = join(user.host.home, "budgie.json");
    writeFileSync(
      config,
      JSON.stringify({
        env: { NODE_ENV: "general" },
        workspaces: {
          [shop]: {
            image: `${name}:1`,
            env: { NODE_ENV: "test", TOKEN: "$SHOP_TOKEN" },
            limits: { tmp: "700m", pids: 700 },
            agents: { "shell-worker": { limits: { pids: 300 } } },
          },
        },
      }),
    );
    const { ask } = await user.start({ sandbox: true, args: ["--config", config], env: { SHOP_TOKEN: "s3cret" } });

    const there = await ask("shell-worker", { directory: join(shop, "src"), prompt: FACTS });
    const elsewhere = await ask("shell-worker", { prompt: FACTS });

    expect(toText(there).split("\n")).toEqual(["shop", "s3cret", "test", "700", "300"]);
    expect(toText(elsewhere).split("\n")).toEqual(["general", "512", "512"]);
  });
});

describe("the mounts of a directory", () => {
  it("are read by its agents at their own path, changed by none, and not there elsewhere", async () => {
    await using user = await createBudgieUser();
    const [shop, schemas] = [join(user.host.home, "shop"), join(user.host.home, "disk/schemas")];
    const [file, data, link] = [
      join(schemas, "bird.json"),
      join(user.host.home, "data.json"),
      join(shop, "../schemas"),
    ];
    for (const folder of [shop, schemas]) mkdirSync(folder, { recursive: true });
    for (const path of [file, data]) writeFileSync(path, "budgie");
    symlinkSync(schemas, link);
    const config = join(user.host.home, "budgie.json");
    writeFileSync(config, JSON.stringify({ workspaces: { [shop]: { mounts: [link, data] } } }));
    const { ask } = await user.start({ sandbox: true, args: ["--config", config] });
    const writes = [
      `echo x >>'${file}'`,
      `echo x >'${schemas}/new'`,
      `rm '${file}'`,
      `chmod 777 '${file}'`,
      `echo x >>'${data}'`,
    ];
    const tries = writes.map((write) => `( ${write} ) 2>/dev/null && echo wrote`);
    const reads = `cat '${file}' '${data}' 2>/dev/null; echo .; ls '${link}' 2>/dev/null`;
    const prompt = `[[run: ${[reads, ...tries, "echo tried"].join("; ")}]]`;

    const there = await ask("shell-worker", { directory: shop, prompt });
    const elsewhere = await ask("shell-worker", { prompt: `[[run: ${reads}]]` });
    writeFileSync(file, "parrot");
    const changed = await ask("shell-worker", { directory: shop, prompt });
    rmSync(schemas, { recursive: true });
    const missing = await ask("shell-worker", { directory: shop, prompt });
    symlinkSync(join(user.host.home, ".ssh"), schemas);
    const swapped = await ask("shell-worker", { directory: shop, prompt });

    expect(toText(there)).toBe("budgiebudgie.\ntried");
    expect(toText(elsewhere)).toBe(".");
    expect(toText(changed)).toBe("parrotbudgie.\ntried");
    expect(missing.structuredContent).toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(`The mount "${schemas}" is missing.`),
    });
    expect(swapped.structuredContent).toMatchObject({
      code: "WORKSPACE_INVALID",
      message: expect.stringContaining(`"${schemas}" was exchanged`),
    });
    expect(readFileSync(data, "utf8")).toBe("budgie");
  });

  it("may be around it, or lie in it, where it has its own path", async () => {
    await using user = await createBudgieUser();
    const [code, shop] = [join(user.host.home, "code"), join(user.host.home, "code/shop")];
    for (const name of ["other", "shop/fixed"]) mkdirSync(join(code, name), { recursive: true });
    const config = join(user.host.home, "budgie.json");
    const section = { workspacePath: "same", mounts: [code, join(shop, "fixed")] };
    writeFileSync(config, JSON.stringify({ workspaces: { [shop]: section } }));
    const { ask } = await user.start({ sandbox: true, args: ["--config", config] });
    const prompt = "[[run: ls ..; for at in own fixed/x ../other/x; do touch $at 2>/dev/null && echo made $at; done]]";

    expect(toText(await ask("shell-worker", { directory: shop, prompt }))).toBe("other\nshop\nmade own");
  });

  it("never hold what a workspace may not hold", async () => {
    await using user = await createBudgieUser();
    const config = join(user.host.home, "budgie.json");
    writeFileSync(config, JSON.stringify({ workspaces: { "~/shop": { mounts: ["~/.ssh"] } } }));

    const run = await user.run(["--sandbox", "--sandbox-image", IMAGE, "--config", config], toEngineVariables());

    expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("is your SSH keys") });
  });
});

describe("a directory at its own path", () => {
  it("is there what it is outside, in each turn of its session, whatever budgie is told later", async () => {
    await using user = await createBudgieUser();
    const directory = join(user.host.home, "my shop");
    mkdirSync(join(directory, ".kiro/agents"), { recursive: true });
    const config = join(user.host.home, "budgie.json");
    writeFileSync(config, JSON.stringify({ workspaces: { [directory]: { workspacePath: "same" } } }));
    const prompt = "[[run: pwd; ls -a .kiro/agents | wc -l; echo made >made.txt]]";
    const args = ["--config", config, "--keep-sessions"];
    const first = await user.start({ sandbox: true, args });

    const answer = await first.ask("shell-worker", { directory, prompt });
    const elsewhere = await first.ask("shell-worker", { prompt: "[[run: pwd]]" });
    first.child.stdin?.end();
    await first.ended;
    writeFileSync(config, "{}");
    const second = await user.start({ sandbox: true, args });
    const { sessionId } = answer.structuredContent ?? {};
    const resumed = await second.ask("shell-worker", { directory, sessionId, prompt: "[[run: pwd]]" });
    const fresh = await second.ask("shell-worker", { directory, prompt: "[[run: pwd]]" });
    second.child.stdin?.end();
    await second.ended;

    expect((await removeKept(user)).filter(isContainer)).toEqual([]);
    expect(toText(answer).split("\n")).toEqual([directory, "2"]);
    expect(existsSync(join(directory, "made.txt"))).toBe(true);
    expect([elsewhere, resumed, fresh].map(toText)).toEqual(["/workspace", directory, "/workspace"]);
  });
});
