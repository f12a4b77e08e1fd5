import { freemem, platform, totalmem } from "node:os";

const LEAST_AVAILABLE = 0.1;

/** Tells whether less than a tenth of the machine's memory is available; `false` where the system does not tell. */
export function isMemoryShort(): boolean {
  // Other systems count memory that they use for files as used.
  return platform() === "linux" && freemem() < LEAST_AVAILABLE * totalmem();
}
