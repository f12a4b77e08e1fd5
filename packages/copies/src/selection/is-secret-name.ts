const NAMES: ReadonlySet<string> = new Set([
  ".netrc",
  "_netrc",
  ".pgpass",
  ".git-credentials",
  ".npmrc",
  ".dockercfg",
  ".my.cnf",
  ".s3cfg",
  ".boto",
  ".dev.vars",
  ".terraformrc",
  "credentials",
  "credentials.toml",
  "credentials.tfrc.json",
  "kubeconfig",
  "local.settings.json",
  "secrets.json",
  "secrets.toml",
  "secrets.yaml",
  "secrets.yml",
  ".pypirc",
  ".htpasswd",
  ".vault-token",
  "credentials.json",
  "service-account.json",
  "id_rsa",
  "id_dsa",
  "id_ecdsa",
  "id_ed25519",
  "id_ecdsa_sk",
  "id_ed25519_sk",
  "terraform.tfstate",
  "terraform.tfstate.backup",
]);
const ENDINGS = [
  ".env",
  ".pem",
  ".key",
  ".p8",
  ".p12",
  ".pfx",
  ".jks",
  ".keystore",
  ".keytab",
  ".ppk",
  ".kdbx",
  ".ovpn",
  ".asc",
  ".kubeconfig",
  ".tfstate",
  ".tfvars",
  ".tfvars.json",
];
// Examples of settings are for everyone to read.
const EXAMPLES = [".example", ".sample", ".template", ".dist"];

/** Returns true for the name of a file that often holds a secret, such as `.env.local`, `server.pem` or `terraform.tfstate`. */
export function isSecretName(name: string): boolean {
  const lower = name.toLowerCase();
  if (/^\.(?:env(?:$|[-_.]|rc)|dev\.vars\.)/.test(lower)) {
    return !EXAMPLES.some((ending) => lower.endsWith(ending));
  }
  return NAMES.has(lower) || ENDINGS.some((ending) => lower.endsWith(ending)) || lower.includes(".tfstate.");
}
