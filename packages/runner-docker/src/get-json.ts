import type Docker from "dockerode";

/** Asks the engine for one thing; dockerode's own calls for these take no signal, and would wait for ever. */
export function getJson<T>(docker: Docker, path: string, abortSignal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const options = {
      path,
      method: "GET",
      abortSignal,
      statusCodes: { 200: true, 404: "not found", 500: "server error" },
    };
    docker.modem.dial(options, (error: unknown, data: unknown) => {
      if (error) reject(error as Error);
      else resolve(data as T);
    });
  });
}
