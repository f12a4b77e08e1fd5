// The public surface of @budgie/egress: every export is named here, and becomes API.
export { createEgressFetch, type EgressFetch } from "./fetch/egress-fetch.ts";
export { inspectCertificate, type CertificateQuestion, type JudgedCertificate } from "./fetch/inspect-certificate.ts";
export type { ConnectorOptions } from "./fetch/connector.ts";
export type { EgressLimits } from "./dial/egress-limits.ts";
export { createEgressProxy, type EgressProxy, type EgressProxyOptions } from "./proxy/egress-proxy.ts";
export type { SessionProxy } from "./proxy/session-proxy.ts";
export { loadProxyProgram, type ProxyProgram } from "./remote/load-proxy-program.ts";
export { createRemoteEgressProxy, type ProxyStreams } from "./remote/remote-egress-proxy.ts";
export type { Lookup, ResolvedAddress } from "./dial/resolver.ts";
export type { UpstreamOptions } from "./dial/parse-upstream.ts";
