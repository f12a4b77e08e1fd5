import { pipeline } from "node:stream/promises";
import { Readable } from "node:stream";
import { BudgieError } from "@budgie/core";
import { orAborted } from "@budgie/core/bounds";
import { readPlainFile } from "@budgie/core/text";
import { buildJavaTrustStore } from "@budgie/sandbox/profile";
import { awaitAnswer } from "../session/ask-pod.ts";
import type { Wire } from "../wire/index.ts";

/** The certificates that agents trust. */
export type Trust = { readonly pem: Buffer; readonly java: Buffer };

const SEND_MS = 60_000;

/** Reads the user's certificates. Throws `CONFIG_INVALID` if their file cannot be read. */
export function readTrust(caFile: string): Trust {
  try {
    const { text } = readPlainFile(caFile);
    return { pem: Buffer.from(text), java: buildJavaTrustStore(text) };
  } catch (cause) {
    if (cause instanceof BudgieError) throw cause;
    const why = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
    throw new BudgieError(
      "CONFIG_INVALID",
      `The certificates in "${caFile}" cannot be read (${why}). Name another file, or leave the option out.`,
      { cause },
    );
  }
}

/** Puts the user's certificates into a Pod, where agents can read them and not change them. */
export async function sendTrust(wire: Wire, { java, pem }: Trust, signal?: AbortSignal): Promise<void> {
  const limit = AbortSignal.timeout(SEND_MS);
  const over = signal === undefined ? limit : AbortSignal.any([limit, signal]);
  for (const [form, content] of [
    ["pem", pem],
    ["java", java],
  ] as const) {
    const stream = wire.open({ purpose: "file", act: "trust", form });
    stream.input.resume();
    try {
      await orAborted(Promise.all([pipeline(Readable.from([content]), stream.output), awaitAnswer(stream)]), over);
    } catch (error) {
      stream.input.destroy();
      throw limit.aborted ? silentError() : error;
    }
  }
}

function silentError(): BudgieError {
  return new BudgieError(
    "RUNNER_UNAVAILABLE",
    `The Pod did not take the user's certificates within ${SEND_MS / 1_000} seconds. Check the cluster, or begin a new session.`,
  );
}
