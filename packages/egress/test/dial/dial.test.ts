import { expect, it } from "vitest";
import { dialHost } from "../../src/dial/dial.ts";
import { parseUpstream } from "../../src/dial/upstream.ts";
import { createOrigin } from "../helpers/proxy-place.ts";

it("a proxy on the way that never answers is given up in time", async () => {
  const silent = await createOrigin((socket) => void socket.resume());
  const upstream = parseUpstream({ url: `http://127.0.0.1:${silent.port}` });

  await expect(dialHost({ host: "allowed.test", port: 443, addresses: [], upstream }, 100)).rejects.toThrow("in time");
  await silent.close();
});
