import { serveControlLines } from "./remote/serve-control-lines.ts";

// The input ends with the process that started this one, and then no connection may stay open.
await serveControlLines(process.stdin, process.stdout);
process.exit(0);
