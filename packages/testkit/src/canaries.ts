/** Marked secrets that must never appear in a sandbox, except `login`, which an agent needs. */
export type Canaries = {
  readonly sshKey: string;
  readonly awsCredentials: string;
  readonly mcpSecret: string;
  readonly otherAgentSecret: string;
  readonly conversation: string;
  readonly history: string;
  readonly state: string;
  /** Part of the token, which belongs in a session's database and nowhere else */
  readonly login: string;
};

/** Creates unique strings. */
export function makeCanaries(): Canaries {
  const mark = Math.random().toString(36).slice(2, 10);
  return {
    sshKey: `canary-ssh-key-${mark}`,
    awsCredentials: `canary-aws-credentials-${mark}`,
    mcpSecret: `canary-mcp-secret-${mark}`,
    otherAgentSecret: `canary-other-agent-secret-${mark}`,
    conversation: `token-canaryconversation${mark}`,
    history: `canary-history-${mark}`,
    state: `canary-state-${mark}`,
    login: `canary-login-${mark}`,
  };
}
