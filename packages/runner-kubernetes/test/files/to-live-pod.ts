import type { LivePod } from "../../src/session/live-pod.ts";
import type { Wire } from "../../src/wire/wire.ts";

/** Returns a Pod with this wire, and a function that has it lost. */
export function toLivePod(wire: Wire): { readonly pod: LivePod; readonly lose: () => Promise<void> } {
  const kernel = { landlock: 4, ports: [32_768, 60_999] } as const;
  let resolve: () => void = () => undefined;
  const lost = new Promise<never>((settle) => (resolve = () => settle(undefined as never)));
  const pod: LivePod = {
    name: "budgie-one",
    uid: "u",
    wire,
    nodeAddress: undefined,
    areFoldersOwn: true,
    service: undefined,
    kernel,
    lost,
    remove: async () => undefined,
  };
  return {
    pod,
    async lose() {
      resolve();
      await lost;
    },
  };
}
