import { serveControlLines } from "./remote/serve-control-lines.ts";

// Whoever started it has gone when its input ends, and then nobody may go out any more.
await serveControlLines(process.stdin, process.stdout);
process.exit(0);
