import { spawn } from "node:child_process";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { buffer, text } from "node:stream/consumers";
import { serveOnLoopback, type Identity } from "@budgie/testkit";
import type { RecordingServer } from "./folder-server.ts";

/** Serves a folder of repositories to everybody, for reading and writing, with this machine's `git http-backend`. */
export async function createGitServer(folder: string, identity: Identity): Promise<RecordingServer> {
  const requests: string[] = [];
  const server = createServer(identity, (request, response) => {
    requests.push(`${request.method} ${request.url}`);
    void answer(folder, request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  return { ...(await serveOnLoopback(server)), requests };
}

/** The settings that disable the dumb protocol, which serves a repository's files one by one. */
const SETTINGS = ["http.getanyfile=false", "http.receivepack=true", "safe.directory=*"].flatMap((line) => ["-c", line]);

async function answer(folder: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const child = spawn("git", [...SETTINGS, "http-backend"], {
    env: toEnvironment(folder, request),
    stdio: ["pipe", "pipe", "pipe"],
  });
  request.pipe(child.stdin.on("error", () => undefined));
  const ended = once(child, "close");
  const [said, complaint] = await Promise.all([buffer(child.stdout), text(child.stderr), ended]);
  const end = said.indexOf("\r\n\r\n");
  if (end === -1) throw new Error(`git http-backend has no answer: ${complaint}`);
  const { Status = "200", ...headers } = toHeaders(said.toString("latin1", 0, end));
  response.writeHead(Number.parseInt(Status, 10), headers).end(said.subarray(end + 4));
}

function toEnvironment(folder: string, { headers, method, url = "" }: IncomingMessage): NodeJS.ProcessEnv {
  const { pathname, searchParams } = new URL(url, "https://git");
  return {
    PATH: process.env["PATH"],
    GIT_PROJECT_ROOT: folder,
    GIT_HTTP_EXPORT_ALL: "1",
    REQUEST_METHOD: method,
    PATH_INFO: pathname,
    QUERY_STRING: searchParams.toString(),
    CONTENT_TYPE: headers["content-type"],
    HTTP_CONTENT_ENCODING: headers["content-encoding"],
    GIT_PROTOCOL: headers["git-protocol"]?.toString(),
  };
}

function toHeaders(head: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    head.split("\r\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
  );
}
