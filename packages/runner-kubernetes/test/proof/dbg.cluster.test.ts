import { it } from "vitest";
import { text } from "node:stream/consumers";
import { startGateCluster } from "../helpers/gate-cluster.ts";
it("dbg", async () => {
  const place = await startGateCluster("gate");
  const opened = await place.openPod();
  const words = ["tcp:127.0.0.1:3128", "tcp:10.96.0.1:443", "tcp:1.1.1.1:443", "tcp:169.254.169.254:80"];
  for (let i = 0; i < 120; i++) {
    const t = performance.now();
    const order: any = { argv: ["/budgie/hold", "probe", ...words], env: {}, unset: ["*"], directory: "/home/agent", ports: i % 2 ? undefined : [3128], isReadOnly: false, limits: { pids: 512, diskBytes: 1e15 } };
    const child = await opened.processes.start(opened.pod, { order, input: "", signal: undefined });
    const [out, err, exit] = await Promise.all([text(child.stdout), text(child.stderr), child.exit]);
    if (out.split("\n").length !== 5 || !out.includes("3128 connected") || err !== "") console.log(i, i % 2 ? "free" : "jailed", Math.round(performance.now() - t), JSON.stringify(out), JSON.stringify(err), JSON.stringify(exit));
  }
  console.log("done");
}, 400000);
