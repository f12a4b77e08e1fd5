import { readFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const conditions = ["@budgie/source"];

// Tests that start budgie's programs need a build.
const globalSetup = "packages/cli/test/helpers/build-checkout.ts";

// Packages import each other's source, so that no test runs against an old build.
const shared = {
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
};

// The stages of scripts/test name an empty folder, so that one transforms modules for those after it.
const moduleCache = process.env["BUDGIE_TEST_MODULES"];

// vitest polls for a second by default, in which a loaded machine may not get to it.
const slowMachine = { expect: { poll: { timeout: 20_000 } } };

const escape = "packages/claims/test/*/*.docker.test.ts";
// Probes without their controls, like `budgie doctor --prove` on the machine's engine, of the claims that an engine could break.
const prove = "packages/claims/test/prove.docker.test.ts";
const gvisor = "packages/claims/test/gvisor.docker.test.ts";
// The tests of the main promises, which `npm test` runs on the engine in minutes.
const promises = [
  "packages/cli/test/{egress,sandbox}.docker.test.ts",
  "packages/{cli,mcp-server}/test/**/{access,cancellation,executable-paths,hostile-repository,prove}.docker.test.ts",
  "packages/runner-docker/test/{access,contract,errors,isolation,secrets}.docker.test.ts",
  "packages/runner-docker/test/**/{bind-mounts,confirm-mounts,disk,egress,hostile-repository,login,planted-home}.docker.test.ts",
  // Its server takes no user without a name, as whom the other tests run.
  "packages/runner-docker/test/ssh/ssh-engine.docker.test.ts",
  // Starts an engine of its own, as only root can.
  "packages/mcp-server/test/remote-copies.docker.test.ts",
  "packages/runner-docker/test/**/{exit-marker,lost-volumes,read-home-file,resume,session-container}.docker.test.ts",
  // The stand-in agent, on which the other tests rely.
  "packages/testkit/test/install-kiro-cli.docker.test.ts",
];
// Turns of agents from npm.
const agents = [
  "packages/cli/test/programs/*.docker.test.ts",
  "packages/runner-docker/test/real-agents.docker.test.ts",
];
// As for the unit tests, modules are loaded once for each worker.
const onEngine = { isolate: false, testTimeout: 120_000, hookTimeout: 180_000, ...slowMachine };

/** Files that take long, the longest of each kind first. One that started last would leave the other workers idle. */
export const LONGEST = [
  ...["gemini-cli", "opencode", "presets", "program-servers", "projects", "qwen-code"].map(
    (name) => `cli/test/programs/${name}.docker`,
  ),
  "cli/test/commands/doctor/prove.docker",
  "claims/test/prove.docker",
  "claims/test/gvisor.docker",
  ...["claims/test/claims", "runner-kubernetes/test/faults"].map((name) => `${name}.cluster`),
  "runner-docker/test/contract.docker",
  ...["servers/servers", "kernel/read-only", "session/caller", "network/proxy"].map(
    (name) => `claims/test/${name}.docker`,
  ),
  "cli/test/sandbox.docker",
  ...["image/dockerfile-sandbox", "turn/stopping"].map((name) => `runner-docker/test/${name}.docker`),
  ...["mcp/calls/executable-paths", "server/restarts"].map((name) => `mcp-server/test/${name}.docker`),
  ...["commands/run-build-image", "package", "credentials"].map((name) => `cli/test/${name}.docker`),
  ...["isolation", "sandbox/hostile-git", "session/hung-engine"].map((name) => `runner-docker/test/${name}.docker`),
  ...["kiro-contract", "kiro/kiro-profiles"].map((name) => `protocols/test/acp/${name}.process`),
  "mcp-server/test/server/concurrency.process",
  "testkit/test/kiro-cli/profile/settings.process",
  "copies/test/selection/like-git.process",
  "sandbox/test/proc/watch-disk.process",
  ...["mcp/long-calls/long-calls", "server/restarts"].map((name) => `mcp-server/test/${name}.process`),
  ...["contract", "stopping"].map((name) => `runner-local/test/${name}.process`),
  ...["one-call", "commands/docs-site"].map((name) => `cli/test/${name}.process`),
  ...["engine", "agent", "budgie"].map((name) => `cli/test/faults/${name}.faults`),
  ...["contract", "proof/gate", "soak", "kubernetes-runner"].map((name) => `runner-kubernetes/test/${name}.cluster`),
  ...["cluster/turns-on-cluster", "commands/cluster/cluster-commands"].map((name) => `cli/test/${name}.cluster`),
  ...["languages/calling", "http", "languages/java", "languages/cancelling"].map(
    (name) => `cli/test/interop/${name}.interop`,
  ),
].map((name) => `/packages/${name}.test.ts`);

/** Starts these files before the others, which vitest sorts by durations that it knows, else by size. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const rank = LONGEST.findIndex((name) => moduleId.endsWith(name));
      return rank === -1 ? LONGEST.length : rank;
    };
    return (await super.sort(files)).toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

// Its source maps name files that it does not bring, which Vite reports one by one.
const withoutMaps = {
  name: "without-maps",
  load: (id: string) =>
    id.includes("/@actions/") && id.endsWith(".js")
      ? readFileSync(id, "utf8").replace(/^\/\/# sourceMappingURL=.*$/m, "")
      : undefined,
};

export default defineConfig({
  // Outside the checkout, so that an ordinary user can run the tests of a checkout that is not theirs.
  cacheDir: join(tmpdir(), `budgie-vitest-${process.getuid?.() ?? 0}`),
  test: {
    experimental:
      moduleCache === undefined
        ? {}
        : { fsModuleCache: true, fsModuleCachePath: join(moduleCache, `${process.getuid?.()}`) },
    // Most tests wait for processes, so as many workers as cores would leave these idle half of the time.
    maxWorkers: 2 * availableParallelism(),
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        ...shared,
        plugins: [withoutMaps],
        test: {
          name: "unit",
          // Most of the time of these tests was that of loading modules anew for each file.
          pool: "threads",
          isolate: false,
          setupFiles: "packages/testkit/test/helpers/start-no-process.ts",
          include: ["packages/*/test/**/*.test.ts"],
          exclude: ["**/*.{cluster,docker,faults,interop,process}.test.ts", "**/node_modules/**"],
          // It imports JSON in a way that Node refuses.
          server: { deps: { inline: ["@actions/workflow-parser"] } },
          testTimeout: 30_000,
          ...slowMachine,
        },
      },
      {
        ...shared,
        test: {
          // Tests that start processes, or change or measure the one that they run in, without an engine.
          name: "process",
          // As above: a fifth of the processor time was that of loading modules.
          isolate: false,
          globalSetup,
          include: ["packages/*/test/**/*.process.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          ...slowMachine,
        },
      },
      {
        ...shared,
        test: {
          name: "docker",
          globalSetup,
          include: promises,
          ...onEngine,
        },
      },
      {
        ...shared,
        test: {
          // These take the longest, so they start first: vitest sorts projects by name.
          name: "docker-agents",
          globalSetup,
          include: agents,
          ...onEngine,
        },
      },
      {
        ...shared,
        test: {
          name: "docker-more",
          globalSetup,
          include: ["packages/*/test/**/*.docker.test.ts"],
          exclude: [...promises, ...agents, prove, gvisor, escape, "**/node_modules/**"],
          ...onEngine,
        },
      },
      {
        ...shared,
        test: {
          // The tests that scripts/test-engines runs on each further engine.
          name: "engines",
          include: [
            prove,
            gvisor,
            "packages/runner-docker/test/{contract,image/one-file-image,session/lost-volumes}.docker.test.ts",
          ],
          ...onEngine,
        },
      },
      {
        ...shared,
        test: {
          // The probes of the claims, with their controls.
          name: "docker-escape",
          globalSetup,
          include: [escape],
          ...onEngine,
          // A control lets each attack of a claim through, which takes minutes on a loaded machine.
          testTimeout: 300_000,
        },
      },
      {
        ...shared,
        test: {
          // Tests with the MCP clients that scripts/interop-clients fetches.
          name: "interop",
          globalSetup: [globalSetup, "packages/cli/test/interop/clients.ts"],
          include: ["packages/*/test/**/*.interop.test.ts"],
          ...onEngine,
        },
      },
      {
        ...shared,
        test: {
          name: "faults",
          globalSetup,
          include: ["packages/*/test/**/*.faults.test.ts"],
          ...onEngine,
          testTimeout: 300_000,
        },
      },
      {
        ...shared,
        test: {
          // They run where scripts/test-cluster has built a cluster, and are skipped elsewhere.
          name: "cluster",
          globalSetup: "packages/testkit/test/cluster/name-shared-cluster.ts",
          include: ["packages/*/test/**/*.cluster.test.ts"],
          ...onEngine,
          // A cluster takes a gigabyte, and a file waits for two minutes. Other projects run before.
          maxWorkers: availableParallelism() + 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
