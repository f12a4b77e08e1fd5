import { expect, it } from "vitest";
import type { AllowedHost, EgressPolicy } from "@budgie/core";
import { createCertificateAuthority, createInterceptingProxy } from "@budgie/testkit";
import { inspectCertificates } from "../../../src/commands/doctor/inspect-egress.ts";
import { toSilentHost } from "../../helpers/to-silent-host.ts";

const KIRO = "kiro.test";
const preset = (host: string): AllowedHost => ({ host, port: 443, address: undefined, from: "preset kiro" });
const policy: EgressPolicy = { mode: "allowlist", hosts: ["*.kiro.dev", KIRO, "other.test"].map(preset) };

it("behind a proxy that inspects TLS, one of Kiro's hosts is looked at if it is called, and the file to trust is named", async () => {
  await using authority = await createCertificateAuthority("Corp CA");
  await using proxy = await createInterceptingProxy(authority, { [KIRO]: undefined });
  const env = { HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: authority.file };
  const trial = { caFile: undefined, host: toSilentHost({ cwd: "/", home: "/", env }) };
  const print = async () => "";

  const uncalled = await inspectCertificates({ print }, policy, { ...trial, callsKiro: false });
  expect(proxy.asked).toEqual([]);
  const found = await inspectCertificates({ print }, policy, { ...trial, callsKiro: true });
  const trusting = await inspectCertificates({ print }, policy, { ...trial, caFile: authority.file, callsKiro: true });

  expect(uncalled).toEqual([]);
  expect(found).toEqual([
    {
      what: "egress",
      state: "failed",
      text: `"${KIRO}:443" shows a certificate of "Corp CA", which the sandbox does not trust. Add --ca-file "${authority.file}" (NODE_EXTRA_CA_CERTS).`,
      todo: `budgie config set caFile "${authority.file}"`,
    },
  ]);
  expect(trusting).toEqual([]);
  expect(new Set(proxy.asked)).toEqual(new Set([`${KIRO}:443`]));
});
