import { expect } from "vitest";

/** Matches the report of an error whose session cannot be resumed. */
export const WITHOUT_SESSION: unknown = expect.not.objectContaining({ sessionId: expect.any(String) });
