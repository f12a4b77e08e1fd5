import { createServer } from "node:http";
import { serveOnLoopback } from "@budgie/testkit";
import { Provider, type Context, type Grant } from "oidc-provider";

/** Starts the authorization server `oidc-provider`, which registers every client and lets one user in. */
export async function startOidcProvider({ tokenSeconds }: { readonly tokenSeconds: number }) {
  const server = createServer((request, response) => {
    const isInteraction = request.url?.startsWith("/interaction/") === true;
    void (isInteraction
      ? provider.interactionFinished(request, response, { login: { accountId: "user" }, consent: {} })
      : handle(request, response));
  });
  const { [Symbol.asyncDispose]: dispose, port } = await serveOnLoopback(server);
  const url = `http://127.0.0.1:${port}`;
  const provider = new Provider(url, {
    clientDefaults: { token_endpoint_auth_method: "none" },
    cookies: { keys: ["key"] },
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_: unknown, resource: string) => ({ scope: "tools", audience: resource }),
        useGrantedResource: () => true,
      },
    },
    findAccount: (_: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
    interactions: { url: (_: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
    issueRefreshToken: () => true,
    async loadExistingGrant({ oidc }: Context) {
      const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope("tools");
      grant.addResourceScope(oidc.params["resource"] ?? "", "tools");
      await grant.save();
      grants.push(grant);
      return grant;
    },
    rotateRefreshToken: true,
    scopes: ["tools"],
    ttl: { AccessToken: tokenSeconds, Grant: 600, Interaction: 600, RefreshToken: 600, Session: 600 },
  });
  const handle = provider.callback();
  const granted: string[] = [];
  const grants: Grant[] = [];
  provider.on("grant.success", ({ oidc }) => void granted.push(oidc.params["grant_type"] ?? ""));
  return {
    url,
    granted,
    async accepts(header: string | undefined): Promise<boolean> {
      const token = await provider.AccessToken.find(/^Bearer (.+)$/.exec(header ?? "")?.[1] ?? "");
      return token?.isValid === true;
    },
    /** Revokes all grants, like an administrator. */
    endLogins: async () => void (await Promise.all(grants.map((grant) => grant.destroy()))),
    [Symbol.asyncDispose]: dispose,
  };
}

/** Opens an address as a browser does, with its cookies. Returns the text of the last page. */
export async function browse(address: string): Promise<string> {
  const jar = new Map<string, string>();
  for (let next = address; ;) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(next, { redirect: "manual", headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      jar.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null) return response.text();
    next = new URL(location, next).href;
  }
}
