import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { MethodImpl } from "@connectrpc/connect";

/** An agent in the list of a kagent backend. */
export type ListedAgent = {
  readonly name: string;
  readonly description?: string;
  /** Default true */
  readonly accepted?: boolean;
  /** Default true */
  readonly ready?: boolean;
  /** The template that has its description, from kagent 1.0 on; default one of its own */
  readonly template?: string;
};

/** Options of {@link createKagentApi}. */
type KagentApiOptions = {
  readonly namespace: string;
  /** Returns the agents that it lists now */
  readonly agents: () => readonly ListedAgent[];
  /** Is called with the name of each method that was called */
  readonly onCall: (method: string) => void;
  /** The header `authorization` that it requires; default none */
  readonly authorization?: string | undefined;
  /** Namespaces that this user may not see, beside the agents' own */
  readonly secretNamespaces?: readonly string[] | undefined;
  /** Answers other requests */
  readonly fallback: RequestListener;
};

/** Creates the gRPC-Web services of kagent from 1.0 on that list agents. Connect serves them, by kagent's own schema. */
export async function createKagentApi(options: KagentApiOptions): Promise<RequestListener> {
  const { agents, authorization, fallback, namespace, onCall, secretNamespaces = [] } = options;
  const { Code, ConnectError } = await import("@connectrpc/connect");
  const { connectNodeAdapter } = await import("@connectrpc/connect-node");
  const methodOf = await loadMethods();

  /** Refuses a call as kagent does. */
  function check(method: string, headers: Headers, asked?: string): void {
    onCall(method);
    if (authorization !== undefined && headers.get("authorization") !== authorization) {
      throw new ConnectError("who are you?", Code.Unauthenticated);
    }
    if (asked === "") throw new ConnectError("namespace: value length must be at least 1", Code.InvalidArgument);
    if (secretNamespaces.includes(asked ?? "")) throw new ConnectError("not authorized", Code.PermissionDenied);
  }

  const toRef = (name: string) => ({ namespace, name });

  function listNamespaces(_request: Request, { requestHeader }: Context) {
    check("ListNamespaces", requestHeader);
    return { namespaces: [...secretNamespaces, "default", namespace].map((name) => ({ name, status: "Active" })) };
  }

  function listAgents(request: Request, { requestHeader }: Context) {
    check("ListAgents", requestHeader, request.namespace);
    const found = request.namespace === namespace ? agents() : [];
    return { agents: found.map((agent) => ({ ref: toRef(agent.name), resource: toResource(agent, namespace) })) };
  }

  function listAgentTemplates(request: Request, { requestHeader }: Context) {
    check("ListAgentTemplates", requestHeader, request.namespace);
    const shared = agents().filter(({ template }) => template !== undefined);
    return { agentTemplates: shared.map(({ description, template = "" }) => ({ ref: toRef(template), description })) };
  }

  return connectNodeAdapter({
    // Requests over HTTP/2 do not come here.
    fallback: (request, response) => fallback(request as IncomingMessage, response as ServerResponse),
    grpc: false,
    connect: false,
    routes(router) {
      router.rpc(methodOf("SystemService"), toImplementation(listNamespaces));
      router.rpc(methodOf("AgentService"), toImplementation(listAgents));
      router.rpc(methodOf("AgentTemplateService"), toImplementation(listAgentTemplates));
    },
  });
}

function toImplementation(answer: (request: Request, context: Context) => object): MethodImpl<DescMethodUnary> {
  // The schema is made here, so that the compiler does not know its types.
  return answer as unknown as MethodImpl<DescMethodUnary>;
}

type Context = { readonly requestHeader: Headers };

type Request = { readonly namespace: string };

function toResource(
  { accepted = true, description = "", name, ready = true, template }: ListedAgent,
  namespace: string,
) {
  const status =
    accepted && ready ? { latestSuccessfulRevision: `${name}-1`, observedGeneration: 1 } : { warnings: [] };
  const parts =
    template === undefined ? { template: { description, skills: [] } } : { templateRef: { name: template } };
  const value = {
    metadata: { name, namespace, generation: 1, labels: { status: "no status" } },
    spec: { ...parts, harnessRef: { name: "kagent" }, egress: [null, true] },
    status: { ...status, conditions: [{ type: "Ready", status: "True" }] },
  };
  return { apiVersion: "kagent.dev/v1alpha3", kind: "Agent", value };
}

/** Loads the parts of kagent's schema that list agents, and returns a function that finds a service's only method. */
async function loadMethods() {
  const { create, createFileRegistry } = await import("@bufbuild/protobuf");
  const wkt = await import("@bufbuild/protobuf/wkt");
  const file = create(wkt.FileDescriptorProtoSchema, {
    name: "kagent.proto",
    package: PACKAGE,
    syntax: "proto3",
    dependency: [wkt.file_google_protobuf_struct.proto.name],
    messageType: Object.entries(MESSAGES).map(([name, fields]) => ({ name, field: fields.map(toField) })),
    service: Object.entries(METHODS).map(([service, method]) => ({
      name: service,
      method: [
        { name: method, inputType: `.${PACKAGE}.${method}Request`, outputType: `.${PACKAGE}.${method}Response` },
      ],
    })),
  });
  const registry = createFileRegistry(file, () => wkt.file_google_protobuf_struct);
  return (name: keyof typeof METHODS): DescMethodUnary => {
    const method = registry.getService(`${PACKAGE}.${name}`)?.methods[0];
    if (method === undefined) throw new TypeError(`There is no service ${name}.`);
    return method as DescMethodUnary;
  };
}

const PACKAGE = "kagent.api.v1alpha1";

const METHODS = {
  SystemService: "ListNamespaces",
  AgentService: "ListAgents",
  AgentTemplateService: "ListAgentTemplates",
} as const;

type Row = readonly [number: number, name: string, type: string, isRepeated?: "repeated"];

const MESSAGES: Readonly<Record<string, readonly Row[]>> = {
  ListNamespacesRequest: [],
  Namespace: [
    [1, "name", "string"],
    [2, "status", "string"],
  ],
  ListNamespacesResponse: [[1, "namespaces", "Namespace", "repeated"]],
  ResourceReference: [
    [1, "namespace", "string"],
    [2, "name", "string"],
  ],
  StructuredObject: [
    [1, "api_version", "string"],
    [2, "kind", "string"],
    [3, "value", ".google.protobuf.Struct"],
  ],
  Agent: [
    [1, "ref", "ResourceReference"],
    [2, "resource", "StructuredObject"],
  ],
  ListAgentsRequest: [[1, "namespace", "string"]],
  ListAgentsResponse: [[1, "agents", "Agent", "repeated"]],
  AgentTemplate: [
    [1, "ref", "ResourceReference"],
    [2, "resource", "StructuredObject"],
    [4, "description", "string"],
  ],
  ListAgentTemplatesRequest: [[1, "namespace", "string"]],
  ListAgentTemplatesResponse: [[1, "agent_templates", "AgentTemplate", "repeated"]],
};

// The numbers of google/protobuf/descriptor.proto
const [STRING, MESSAGE, OPTIONAL, REPEATED] = [9, 11, 1, 3];

function toField([number, name, type, isRepeated]: Row) {
  const label = isRepeated === undefined ? OPTIONAL : REPEATED;
  const typeName = type.startsWith(".") ? type : `.${PACKAGE}.${type}`;
  return { name, number, label, ...(type === "string" ? { type: STRING } : { type: MESSAGE, typeName }) };
}
