import type { ContainerCreateOptions } from "dockerode";
import { createHttpEngineProxy, type HttpEngineProxy } from "../../../runner-docker/test/helpers/http-engine-proxy.ts";

/** The body of a request to create a container. */
export type CreateBody = ContainerCreateOptions & {
  readonly Labels: Readonly<Record<string, string>>;
  HostConfig: NonNullable<ContainerCreateOptions["HostConfig"]>;
};

/**
 * Creates a socket in front of the real engine that rewrites the creation of containers of a role. It hides PIDs, because a look at a
 * container's mounts would show the change. With `blind`, it answers that no path exists in a container.
 */
export function createRewritingEngine(
  rewrite: (body: CreateBody) => Promise<void>,
  { blind = false, role = "turn" } = {},
): Promise<HttpEngineProxy> {
  return createHttpEngineProxy({
    async toRequest({ body, method, url }) {
      if (method !== "POST" || !/\/containers\/create(\?|$)/.test(url)) return { url, body };
      const creation = JSON.parse(body.toString()) as CreateBody;
      if (creation.Labels["dev.budgie.role"] === role) await rewrite(creation);
      return { url, body: Buffer.from(JSON.stringify(creation)) };
    },
    toAnswer: (url, answer) => (/\/containers\/[^/]+\/json/.test(url) ? hidePid(answer) : answer),
    toRefusal: (method) => (blind && method === "HEAD" ? 404 : undefined),
  });
}

/** Replaces the PID without changing the length, which the response's header has already announced. */
function hidePid(facts: Buffer): Buffer {
  const hidden = (_: string, pid: string): string => `"Pid":0${" ".repeat(pid.length - 1)}`;
  return Buffer.from(facts.toString("latin1").replace(/"Pid":(\d+)/, hidden), "latin1");
}
