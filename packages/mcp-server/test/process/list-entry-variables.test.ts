import { describe, expect, it } from "vitest";
import { findLeftOutNotice, listEntryVariables } from "../../src/process/list-entry-variables.ts";

describe("listEntryVariables", () => {
  it("names what the client's entry set or changed", () => {
    const client = { SAME: "1", CHANGED: "1", ONLY: "1" };

    expect(listEntryVariables({ SAME: "1", CHANGED: "2", NEW: "" }, client)).toEqual(["CHANGED", "NEW"]);
  });

  it("names none where the client's environment is unknown", () => {
    expect(listEntryVariables({ NEW: "1" }, undefined)).toEqual([]);
  });

  it.each("BUDGIE_HTTP_TOKEN BUDGIE_SANDBOX npm_config_x NODE_OPTIONS LD_PRELOAD INIT_CWD _ SHLVL".split(" "))(
    "leaves out %s, which is for budgie, or of a launcher",
    (name) => {
      expect(listEntryVariables({ [name]: "1" }, {})).toEqual([]);
    },
  );
});

describe("the variables that redirect Kiro", () => {
  const redirecting =
    "KIRO_AGENT_ENGINE KIRO_HOME KIRO_DATA_DIR KIRO_KAS_SERVER_PATH KIRO_TEST_DB_PATH KAS_BUNDLE_PATH".split(" ");

  it.each([...redirecting, "AMAZON_Q_CHAT_SHELL", "KIRO_API_KEY_FILE"])(
    "%s of the client's entry is left out",
    (name) => {
      expect(listEntryVariables({ [name]: "1" }, {})).toEqual([]);
    },
  );

  it.each(["KIRO_API_KEY", "KIRO_LOG_LEVEL", "MY_KIRO_HOME"])("%s is none, and is passed on", (name) => {
    expect(listEntryVariables({ [name]: "1" }, {})).toEqual([name]);
  });

  it.each(redirecting)("%s is named, so that nobody looks for it", (name) => {
    expect(findLeftOutNotice({ [name]: "1" }, {})).toEqual([
      `Agents do not get these variables: ${name}. Pass on what they need with --env NAME.`,
    ]);
  });
});

describe("findLeftOutNotice", () => {
  it("names variables that agents may miss, and never a value", () => {
    const env = { SSH_AUTH_SOCK: "a", AWS_PROFILE: "b", JAVA_HOME: "c", GITHUB_TOKEN: "d", WINDOWID: "e", PATH: "f" };

    expect(findLeftOutNotice(env, { PATH: "f" })).toEqual([
      "Agents do not get these variables: AWS_PROFILE, GITHUB_TOKEN, JAVA_HOME, SSH_AUTH_SOCK. Pass on what they need with --env NAME.",
    ]);
  });

  it("names five, and counts the rest", () => {
    const env = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`AWS_${index}`, "x"]));

    expect(findLeftOutNotice(env, {}).join("")).toContain(": AWS_0, AWS_1, AWS_2, AWS_3, AWS_4 and 4 more. ");
  });

  it("is silent if nothing is left out that matters, or whose name is odd", () => {
    const env = { AWS_PROFILE: "b", WINDOWID: "e", BUDGIE_HTTP_TOKEN: "t", "AWS_\u001B[31m": "x", npm_config_key: "x" };

    expect(findLeftOutNotice(env, { AWS_PROFILE: "b" })).toEqual([]);
  });
});
