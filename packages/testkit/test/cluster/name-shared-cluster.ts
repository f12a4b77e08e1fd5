import { endSharedCluster, nameSharedCluster } from "../../src/cluster/share-cluster.ts";

export const setup = nameSharedCluster;
export const teardown = endSharedCluster;
