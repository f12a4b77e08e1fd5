import type { Socket } from "node:net";
import type { Engine } from "../../../packages/runner-docker/src/engine/engine.ts";

export declare function openEngineProxy(
  engine: Pick<Engine, "endpoint">,
  pass: (client: Socket, engine: Socket) => void,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }>;
