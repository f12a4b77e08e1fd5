// The test helpers of this repository, for tests, scripts and examples. They are never published.
export { describeRunner } from "./runner-contract/describe-runner.ts";
export type { Leftovers, RunnerSetup, RunnerUnderTest } from "./runner-contract/runner-setup.ts";
export { describeProtocol, type ProtocolSetup } from "./protocol-contract/describe-protocol.ts";
export { PROTOCOL_GAPS } from "./protocol-contract/gaps.ts";
export type { Task, ProtocolUnderTest } from "./protocol-contract/protocol-under-test.ts";
export type { Canaries } from "./canaries.ts";
export { createCertificateAuthority, type CertificateAuthority, type Identity } from "./certificate-authority.ts";
export { createInterceptingProxy, type InterceptingProxy } from "./intercepting-proxy.ts";
export { createFakeLlm, type FakeLlm } from "./fake-llm/fake-llm.ts";
export { failureOf } from "./failure-of.ts";
export { createFakeRunner, type FakeEnd, type FakeProgram, type FakeRun, type FakeRunner } from "./fake-runner.ts";
export { createHostHome, type HostHome, type HostHomeOptions } from "./host-home.ts";
export { isAlive } from "./is-alive.ts";
export { sendJson } from "./send-json.ts";
export { serveOnLoopback, type LoopbackServer } from "./serve-on-loopback.ts";
export { createNamespace } from "./cluster/create-namespace.ts";
export { shareCluster } from "./cluster/share-cluster.ts";
export { findClusterLack, startCluster, type Cluster } from "./cluster/start-cluster.ts";
export { toEndedProcess } from "./to-ended-process.ts";
export { installKiroCli, kiroCliPath } from "./install-kiro-cli.ts";
export type { Profile as KiroProfile } from "./kiro-cli/profile/settings.ts";
export { startKagentServer, type KagentServer, type KagentServerOptions } from "./a2a/kagent-server.ts";
export {
  startAuthorizationServer,
  type AuthorizationServer,
  type AuthorizationServerOptions,
} from "./mcp/authorization-server.ts";
export { toMockCommand } from "./mcp/to-mock-command.ts";
export type { MockAction, MockOptions, MockTool } from "./mcp/mock-options.ts";
export { startMockServer, type MockHttpOptions, type MockServer } from "./mcp/start-mock-server.ts";
export { startScriptedServer, type Script, type ScriptedServer } from "./a2a/scripted-server.ts";
