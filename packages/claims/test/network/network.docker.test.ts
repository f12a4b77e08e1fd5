import { dirname } from "node:path";
import { CLAIM_GROUPS } from "@budgie/claims";
import { testEngine } from "../../../runner-docker/test/helpers/docker-place.ts";
import { createCrowdedProxy } from "./crowded-proxy.ts";
import { describeClaims, proveWithout, type Control } from "../helpers/describe-claims.ts";
import { proveBehind } from "../helpers/prove-behind.ts";
import { provePlayed } from "./prove-played.ts";
import type { RemoveProtection } from "../helpers/remove-protections.ts";

const mountState: RemoveProtection = ({ HostConfig }) => {
  const mounts = HostConfig.Mounts ?? [];
  const passwd = mounts.find(({ Target }) => Target === "/etc/passwd")?.Source ?? "";
  const state = dirname(dirname(passwd));
  HostConfig.Mounts = [
    ...mounts,
    ...[state, "/run/budgie"].map((Target) => ({ Type: "bind" as const, Source: state, Target })),
  ];
};

const joinAnother: RemoveProtection = async ({ HostConfig, Labels }) => {
  const labels = ["dev.budgie.role=session", `dev.budgie.instance=${Labels["dev.budgie.instance"]}`];
  const sessionContainers = await (await testEngine()).listContainers({ filters: { label: labels } });
  const other = sessionContainers.find(
    (container) => container.Labels["dev.budgie.session"] !== Labels["dev.budgie.session"],
  );
  if (other !== undefined) HostConfig.NetworkMode = `container:${other.Id}`;
};

const CONTROLS: Readonly<Record<string, Control>> = {
  "no-direct-network": provePlayed,
  "no-metadata": provePlayed,
  "no-dns": provePlayed,
  "own-way-out": (claim) => proveWithout(claim, { "own-network": joinAnother }),
  "bounded-connections": proveBehind(createCrowdedProxy),
};

describeClaims(CLAIM_GROUPS.network, { removals: { mounts: mountState }, controls: CONTROLS });
