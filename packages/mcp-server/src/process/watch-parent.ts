const INTERVAL_MS = 10_000;
// PID 1 adopts orphans and never exits.
const INIT = 1;

/**
 * Calls `onExit` when the parent process has exited, since stdin stays open while another process holds the pipe. Keeps no
 * process alive, and ignores PID 1 as a parent.
 */
export function watchParent(onExit: () => void, parentPid: () => number = () => process.ppid): void {
  const first = parentPid();
  if (first <= INIT) return;
  const watching = setInterval(() => {
    if (parentPid() === first) return;
    clearInterval(watching);
    onExit();
  }, INTERVAL_MS);
  watching.unref();
}
