import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/sdk/client/auth.js";
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";

/** The results of a login's steps, as they become known. */
export type LoginProgress = {
  address?: URL;
  client?: OAuthClientInformationMixed;
  discovery?: OAuthDiscoveryState;
  tokens?: OAuthTokens;
  verifier?: string;
};

export type LoginProviderOptions = {
  readonly clientName: string;
  readonly redirectUrl: string;
  readonly scope: string | undefined;
  readonly state: string;
};

/** Creates the SDK's provider for one login. It keeps everything in memory, so that a failed login leaves an earlier one as it was. */
export function createLoginProvider(
  { clientName, redirectUrl, scope, state }: LoginProviderOptions,
  progress: LoginProgress,
): OAuthClientProvider {
  return {
    redirectUrl,
    clientMetadata: {
      client_name: clientName,
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      ...(scope === undefined ? {} : { scope }),
    },
    state: () => state,
    clientInformation: () => progress.client,
    saveClientInformation: (client) => void (progress.client = client),
    tokens: () => undefined,
    saveTokens: (tokens) => void (progress.tokens = tokens),
    redirectToAuthorization: (address) => void (progress.address = address),
    saveCodeVerifier: (verifier) => void (progress.verifier = verifier),
    codeVerifier: () => progress.verifier ?? "",
    // Both halves of a login must use the same authorization server.
    discoveryState: () => progress.discovery,
    saveDiscoveryState: (discovery) => void (progress.discovery = discovery),
  };
}
