/** The folder of proxy sockets in a container. */
export const SOCKETS_TARGET = "/run/budgie";

/** The folder of services' sockets in a container. */
export const SERVICES_TARGET = "/run/budgie-services";

/** The address of the session proxy in a sandbox. */
export const PROXY = "http://127.0.0.1:3128";

const JAVA_PROXY = ["http", "https"]
  .flatMap((scheme) => [
    `-D${scheme}.proxyHost=${new URL(PROXY).hostname}`,
    `-D${scheme}.proxyPort=${new URL(PROXY).port}`,
  ])
  .join(" ");

/**
 * The variables that name the proxy. They are set in lower case too, since curl and others ignore `HTTP_PROXY`. Connections to
 * an agent's own servers bypass the proxy.
 */
export const PROXY_ENV: Readonly<Record<string, string>> = {
  HTTP_PROXY: PROXY,
  HTTPS_PROXY: PROXY,
  http_proxy: PROXY,
  https_proxy: PROXY,
  NO_PROXY: "localhost,127.0.0.1,::1",
  no_proxy: "localhost,127.0.0.1,::1",
  // Java reads none of the above.
  JAVA_TOOL_OPTIONS: JAVA_PROXY,
  // npm tries each request three times, and would wait 70 s in between though the proxy's answer stays the same.
  npm_config_fetch_retry_mintimeout: "1000",
  npm_config_fetch_retry_maxtimeout: "4000",
  // pip would try six times.
  PIP_RETRIES: "2",
  // Node's fetch reads the other variables only with this one, from Node 22.21 on.
  NODE_USE_ENV_PROXY: "1",
};

/** Path of the user's certificates in a sandbox. */
export const CA_FILE = "/etc/budgie/ca.pem";

/** The variables that name the user's certificates. Node adds them to its own; for other programs they replace the default ones. */
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

/** The options that have Java trust a file's certificates in place of its own, without the file's path at their end. */
export const JAVA_TRUST = "-Djavax.net.ssl.trustStoreType=PKCS12 -Djavax.net.ssl.trustStore=";
