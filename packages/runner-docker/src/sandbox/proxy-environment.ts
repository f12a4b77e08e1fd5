const PROXY = "http://127.0.0.1:3128";

/**
 * Tells programs of the way out. In small letters too, since curl and others ignore `HTTP_PROXY` in capitals; an agent's own
 * servers are reached without it.
 */
export const PROXY_ENV: Readonly<Record<string, string>> = {
  HTTP_PROXY: PROXY,
  HTTPS_PROXY: PROXY,
  http_proxy: PROXY,
  https_proxy: PROXY,
  NO_PROXY: "localhost,127.0.0.1,::1",
  no_proxy: "localhost,127.0.0.1,::1",
  // Node's own fetch, from 22.21 on, asks for the variables only with this.
  NODE_USE_ENV_PROXY: "1",
};

/** Where a sandbox has the user's certificates. */
export const CA_FILE = "/etc/budgie/ca.pem";

/** Tells programs of the user's certificates; only Node adds them to its own, for the others the file is all there is. */
export const CA_ENV: Readonly<Record<string, string>> = Object.fromEntries(
  [
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "DENO_CERT",
    "npm_config_cafile",
  ].map((name) => [name, CA_FILE]),
);
