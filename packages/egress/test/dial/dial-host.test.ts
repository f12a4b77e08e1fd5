import { expect, it } from "vitest";
import { dialHost } from "../../src/dial/dial-host.ts";
import { parseUpstream } from "../../src/dial/parse-upstream.ts";
import { createOrigin } from "../helpers/proxy-place.ts";

it("abandons an upstream proxy that never answers after the timeout", async () => {
  const silent = await createOrigin((socket) => void socket.resume());
  const upstream = parseUpstream({ url: `http://127.0.0.1:${silent.port}` });

  await expect(dialHost({ host: "allowed.test", port: 443, addresses: [], upstream }, 100)).rejects.toThrow(
    "before the timeout",
  );
  await silent.close();
});
