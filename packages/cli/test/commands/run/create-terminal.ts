import type { HostTerminal } from "@budgie/mcp-server";

/** Creates the terminal of a person who changes its size. */
export function createTerminal(first: ReturnType<HostTerminal["size"]>) {
  let [size, isRaw] = [first, false];
  const listeners = new Set<() => void>();
  return {
    size: () => size,
    setRaw: (raw: boolean) => void (isRaw = raw),
    isRaw: () => isRaw,
    onResize(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    resize(next: typeof size) {
      size = next;
      for (const listener of listeners) listener();
    },
  };
}
