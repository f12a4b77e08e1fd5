// The part of oidc-provider that tests use; it comes without types.
declare module "oidc-provider" {
  import type { IncomingMessage, ServerResponse } from "node:http";

  export type Grant = {
    addOIDCScope(scope: string): void;
    addResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
    destroy(): Promise<void>;
  };

  export type Context = {
    readonly oidc: {
      readonly client: { readonly clientId: string };
      readonly session: { readonly accountId: string };
      readonly params: Readonly<Record<string, string>>;
    };
  };

  export class Provider {
    constructor(issuer: string, configuration: object);
    readonly Grant: new (of: { readonly accountId: string; readonly clientId: string }) => Grant;
    readonly AccessToken: { find(token: string): Promise<{ readonly isValid: boolean } | undefined> };
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
    on(event: string, listener: (context: Context) => void): void;
  }
}
