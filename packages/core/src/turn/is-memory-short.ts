import { freemem, platform, totalmem } from "node:os";

const LEAST_AVAILABLE = 0.1;

/** Returns true if less than a tenth of the machine's memory is available; `false` on systems that do not report it. */
export function isMemoryShort(): boolean {
  // Other systems count the file cache as used memory.
  return platform() === "linux" && freemem() < LEAST_AVAILABLE * totalmem();
}
