import { prove, type Claim, type Verdict } from "@budgie/claims";
import { listHostAddresses } from "../../src/lab/lab-network.ts";
import { NOBODY, PLAYED_ADDRESSES } from "../../src/network/network-claims.ts";
import { behind, OPTIONS } from "../helpers/describe-claims.ts";
import { createNetworkPlayer } from "./network-player.ts";
import { CONTAINER_REMOVALS } from "../helpers/remove-protections.ts";
import { createRewritingEngine } from "../helpers/rewriting-engine.ts";

/** Runs a claim's probes in the network of a player that answers at every address, in place of no network. */
export async function provePlayed(claim: Claim): Promise<Readonly<Record<string, Verdict>>> {
  const own = listHostAddresses().map(({ address }) => address);
  await using player = await createNetworkPlayer([...new Set([...PLAYED_ADDRESSES, ...own])], NOBODY.resolver);
  await using engine = await createRewritingEngine(async (body) => {
    CONTAINER_REMOVALS["name-files"](body);
    body.HostConfig.NetworkMode = `container:${player.container}`;
    body.Env = [...(body.Env ?? []), `BUDGIE_PLAYED=${player.canary}`];
  });
  const [result] = await prove({ ...OPTIONS, ...behind(engine), claims: [claim] });
  return Object.fromEntries(result?.probes.map(({ name, verdict }) => [name, verdict]) ?? []);
}
