const INTERVAL_MS = 10_000;
// Who lives as long as the machine or the container does, and takes over whom nobody waits for.
const INIT = 1;

/**
 * Tells when the program that started this one has died, which does not end stdin if another holds the pipe open too. It keeps
 * no program alive, and one that init started is not watched.
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
