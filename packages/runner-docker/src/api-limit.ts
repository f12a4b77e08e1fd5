/** How long one call to the engine may take: one that hangs would hang budgie. */
export const API_LIMIT_MS = 15_000;

/** Options that make a call to the engine end after `limitMs`. */
export function withLimit(limitMs = API_LIMIT_MS): { readonly abortSignal: AbortSignal } {
  return { abortSignal: AbortSignal.timeout(limitMs) };
}
