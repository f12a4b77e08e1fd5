import { connect } from "node:net";
import type { HostPort } from "./list-targets.ts";

const LIMIT_MS = 3_000;

/** Tells if an address takes connections of budgie itself, which no policy of the cluster stops. Never rejects. */
export function connectFromHere({ host, port }: HostPort): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: LIMIT_MS });
    const finish = (isConnected: boolean) => (): void => {
      socket.destroy();
      resolve(isConnected);
    };
    socket.once("connect", finish(true)).once("timeout", finish(false)).on("error", finish(false));
  });
}
