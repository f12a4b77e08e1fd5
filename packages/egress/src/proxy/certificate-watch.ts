import type { Socket } from "node:net";
import { CERTIFICATE_REFUSED } from "@budgie/core/egress";
import { createClientRecords } from "../tls/client-records.ts";
import type { EgressLog } from "./egress-log.ts";
import type { Target } from "./target.ts";

/** Watches whether a session's programs accept the certificates of their servers. */
export type CertificateWatch = (tunnel: WatchedTunnel) => void;

type WatchedTunnel = {
  readonly client: Socket;
  readonly server: Socket;
  readonly target: Target;
  /** True if the client's next bytes are its hello, false if they follow it */
  readonly startsWithHello: boolean;
};

// An agent can ask for as many names of a wildcard as it likes.
const MOST_TARGETS = 1_000;

/**
 * Creates the watch of a session. A program that does not accept a certificate sends an alert, or, such as Node and git, leaves without a
 * request. The latter counts only for a server that no program of the session has sent anything: programs also leave connections that they
 * do not need.
 */
export function createCertificateWatch(log: Pick<EgressLog, "fail">): CertificateWatch {
  const used = new Set<string>();
  return ({ client, server, startsWithHello, target }) => {
    const key = `${target.host}:${target.port}`;
    const records = createClientRecords({ startsWithHello });

    function read(chunk: Buffer): void {
      records.read(chunk);
      const state = records.state();
      if (state === "unused") return;
      stop();
      if (state === "used" && used.size < MOST_TARGETS) used.add(key);
      if (state === "alert") fail();
      if (state === "closed") judgeUnused();
    }
    function judgeEnd(): void {
      stop();
      // A server that left first may have been the one that refused.
      if (!server.readableEnded && !server.destroyed) judgeUnused();
    }
    function judgeUnused(): void {
      const wasAnswered = server.bytesRead > 0;
      if (wasAnswered && used.size < MOST_TARGETS && !used.has(key)) fail();
    }
    function fail(): void {
      log.fail(target, new Error(CERTIFICATE_REFUSED));
    }
    function stop(): void {
      client.off("data", read).off("end", judgeEnd).off("error", judgeEnd);
    }

    client.on("data", read).once("end", judgeEnd).once("error", judgeEnd);
  };
}
