const USER = ["PATH", "HOME", "LANG", "TERM", "USER", "LOGNAME", "SHELL", "TMPDIR"];
const PROXIES = [
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "ALL_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "all_proxy",
  "no_proxy",
];
const CERTIFICATES = [
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "NODE_EXTRA_CA_CERTS",
  "REQUESTS_CA_BUNDLE",
  "CURL_CA_BUNDLE",
  "AWS_CA_BUNDLE",
];
// Kiro's variables that do not change which harness, folders or services it uses.
const KIRO = ["KIRO_API_KEY", "KIRO_DISABLE_TELEMETRY", "KIRO_LOG_LEVEL", "KIRO_LOG_NO_COLOR", "KIRO_NO_AUTO_UPDATE"];
const NAMES = new Set([...USER, ...PROXIES, ...CERTIFICATES, ...KIRO]);
const PREFIXES = ["LC_", "XDG_"];

/**
 * Returns the part of the host's environment that an agent gets: user, home, terminal, language, XDG folders, proxies,
 * certificate authorities, a few of Kiro's, and the `extra` names. Everything else may be a secret, or make Kiro another program.
 */
export function pickHostEnvironment(hostEnv: NodeJS.ProcessEnv, extra: readonly string[]): Record<string, string> {
  const isAllowed = (name: string) =>
    NAMES.has(name) || extra.includes(name) || PREFIXES.some((prefix) => name.startsWith(prefix));
  return Object.fromEntries(
    Object.entries(hostEnv).flatMap(([name, value]) => (value !== undefined && isAllowed(name) ? [[name, value]] : [])),
  );
}
