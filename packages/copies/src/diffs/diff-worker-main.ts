// A worker thread: agents choose the texts, and the slowest diffs take their whole time.
import { parentPort } from "node:worker_threads";
import { diffTexts, type DiffRequest } from "./diff-texts.ts";

parentPort?.on("message", (request: DiffRequest) => parentPort?.postMessage(diffTexts(request)));
// The time of a diff does not count before.
parentPort?.postMessage("ready");
