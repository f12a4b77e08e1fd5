import { describe, expect, it } from "vitest";
import { pickHostEnvironment } from "../../src/turn/pick-host-environment.ts";

const PASSED = `PATH HOME LANG LC_ALL LC_CTYPE TERM USER LOGNAME SHELL TMPDIR XDG_DATA_HOME XDG_RUNTIME_DIR KIRO_API_KEY
  KIRO_DISABLE_TELEMETRY KIRO_LOG_LEVEL KIRO_LOG_NO_COLOR KIRO_NO_AUTO_UPDATE
  HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
  SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE AWS_CA_BUNDLE`.split(/\s+/);
const KEPT = `AWS_SECRET_ACCESS_KEY AWS_PROFILE GITHUB_TOKEN SSH_AUTH_SOCK DOCKER_HOST NPM_TOKEN NODE_OPTIONS LD_PRELOAD
  BUDGIE_TURN BUDGIE_SESSION BUDGIE_IMAGE PATHS LANGUAGE path kiro_x MY_KIRO_X
  KIRO_AGENT_ENGINE KIRO_HOME KIRO_DATA_DIR KIRO_RUNTIME_DIR KIRO_AGENT_CONFIG_DIR KIRO_CHAT_SHELL KIRO_MOCK_CHAT_RESPONSE
  KIRO_KAS_SERVER_PATH KIRO_KAS_NODE_PATH KIRO_KAS_ENDPOINT KIRO_TEST_AGENTS_DIR KIRO_TEST_DB_PATH KIRO_ACP_RECORD_PATH
  KIRO_FEATURE_X_ENABLED KIRO_DESKTOP_RELEASE_URL KIRO_SESSION_ID KAS_BUNDLE_PATH AMAZON_Q_CHAT_SHELL`.split(/\s+/);

describe("pickHostEnvironment", () => {
  it.each(PASSED)("passes %s", (name) => {
    expect(pickHostEnvironment({ [name]: "x" }, [])).toEqual({ [name]: "x" });
  });

  it.each(KEPT)("hides %s", (name) => {
    expect(pickHostEnvironment({ [name]: "x" }, [])).toEqual({});
  });

  it("passes the extra names, if they are set", () => {
    expect(pickHostEnvironment({ MINE: "", OTHER: "x", PATH: undefined }, ["MINE", "ABSENT"])).toEqual({ MINE: "" });
  });
});
