import { z } from "zod";
import { group, option } from "./option.ts";
import { PATH } from "./option-values.ts";

// Messages complete the sentence "Expected --model to be <message>, got …".
const name = z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, "the name of a namespace");
const image = z.string().min(1, "the name of an image");
const PORT = "a port from 1 to 65535";
const port = z.union([
  z.int(PORT).min(1, PORT).max(65_535, PORT),
  z.string().regex(/^(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])$/, PORT),
]);

/** The options of a cluster, with `--runner kubernetes`. */
export const clusterOptions = group("Cluster:", {
  kubeconfig: option(PATH.optional(), {
    help: "with --runner kubernetes: the kubeconfig; what KUBECONFIG names, or ~/.kube/config, by default",
    value: "<file>",
    visibility: "file",
  }),
  kubernetesContext: option(z.string().min(1, "the name of a context").optional(), {
    help: "the kubeconfig's context; its current one by default, which another program may change",
    value: "<name>",
    visibility: "file",
  }),
  kubernetesNamespace: option(name.optional(), {
    help: "the namespace of the sandboxes; the context's by default",
    value: "<name>",
    visibility: "file",
  }),
  kubernetesSidecarImage: option(image.optional(), {
    help: "budgie's own image beside the agent's, as budgie image push prints it",
    value: "<image>",
    visibility: "file",
  }),
  kubernetesWait: option(z.string().default("10m"), {
    help: "how long a session waits for a place on the cluster, such as 90s or 10m",
    value: "<duration>",
    visibility: "file",
  }),
  kubernetesPorts: option(z.array(port).default([]), {
    help: "a port of its own sandbox to which an agent's programs may connect, below those that the system chooses; repeatable",
    value: "<port>",
    repeatable: "list",
    visibility: "file",
  }),
});
