import type { EgressProxy } from "@budgie/egress";

/** Starts the proxy that listens on the proxy sockets. */
export type StartProxy = () => Promise<EgressProxy>;

/** The place of the egress proxy: budgie's process, or a container if the engine cannot mount a socket of the host. */
export type ProxyPlacement = "host" | "container";
