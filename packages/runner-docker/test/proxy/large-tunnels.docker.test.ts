import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createSessionId } from "@budgie/core";
import { createDockerPlace } from "../helpers/docker-place.ts";
import { createWebServer, runWith, type WebServer } from "./egress-place.ts";

const UPLOAD = `exec 3<>/dev/tcp/127.0.0.1/3128
printf 'CONNECT web.test:8080 HTTP/1.1\\r\\nHost: web.test:8080\\r\\n\\r\\n' >&3
read -r answer <&3
echo "$answer"
printf 'POST / HTTP/1.1\\r\\nHost: web.test:8080\\r\\nContent-Length: 20000000\\r\\n\\r\\n' >&3
head -c 20000000 /dev/zero >&3
sleep 3`;

const place = createDockerPlace();
let web: WebServer;
beforeAll(async () => {
  web = await createWebServer();
});
afterAll(async () => {
  await web[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

it("a large tunnel of a turn is handed to a process, which ends with the turn", async () => {
  const { runner } = await place.createRunner({ proxyPlacement: "host" });
  const session = await runner.openSession(createSessionId());
  const policy = { mode: "open", hosts: [web.allowed("web.test")] } as const;
  const ended = runWith(session, place.workspace, { policy, script: UPLOAD });

  await expect.poll(() => countForwarders(), { timeout: 30_000, interval: 50 }).toBe(1);
  expect(await ended).toMatchObject({
    stdout: "HTTP/1.1 200 Connection established\r\n",
    egress: { allowed: [{ host: "web.test", port: 8080, count: 1 }], denied: [] },
  });
  expect(countForwarders()).toBe(0);
});

/** Those that this process has started. */
function countForwarders(): number {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isOwnForwarder(name)).length;
}

function isOwnForwarder(pid: string): boolean {
  try {
    const [, status = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
    const isOwn = Number(status.split(" ")[1]) === process.pid;
    return isOwn && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("/forwarder/linux-");
  } catch {
    return false;
  }
}
