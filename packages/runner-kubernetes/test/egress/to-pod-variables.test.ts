import { describe, expect, it } from "vitest";
import { toPodVariables } from "../../src/egress/to-pod-variables.ts";

const PLAIN = { env: {}, hasProxy: false, hasTrust: false };

describe("the variables of a process in a Pod", () => {
  it("name its home and folder for temporary files, and nothing of a network that it does not have", () => {
    const { env } = toPodVariables({ ...PLAIN, env: { TOKEN: "secret" } });

    expect(env).toMatchObject({ HOME: "/home/agent", USER: "agent", TMPDIR: "/tmp", TOKEN: "secret" });
    expect(Object.keys(env).filter((name) => /proxy|CERT|JAVA/i.test(name))).toEqual([]);
  });

  it("name the proxy, and the user's certificates in the folder that agents cannot change", () => {
    const { env } = toPodVariables({ ...PLAIN, hasProxy: true, hasTrust: true });

    expect(env).toMatchObject({
      HTTPS_PROXY: "http://127.0.0.1:3128",
      NO_PROXY: "localhost,127.0.0.1,::1",
      SSL_CERT_FILE: "/budgie/ca.pem",
      NODE_EXTRA_CA_CERTS: "/budgie/ca.pem",
      JAVA_TOOL_OPTIONS: expect.stringMatching(/proxyPort=3128 .*trustStore=\/budgie\/ca\.p12$/),
    });
  });

  it("are the command's own where it has them", () => {
    const { env } = toPodVariables({ ...PLAIN, hasProxy: true, env: { HOME: "/elsewhere", NO_PROXY: "x" } });

    expect(env).toMatchObject({ HOME: "/elsewhere", NO_PROXY: "x" });
  });

  it("are not those of the cluster, of the dynamic linker, or of another proxy, in an image that has them", () => {
    const { unset } = toPodVariables(PLAIN);

    expect(unset).toEqual(expect.arrayContaining(["KUBERNETES_*", "LD_*", "NODE_OPTIONS", "*_PROXY", "*_proxy"]));
    // The first pattern decides.
    expect(unset.indexOf("!KIRO_RUNTIME_DIR")).toBeLessThan(unset.indexOf("KIRO_*"));
  });
});
