import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { CA_ENV } from "@budgie/sandbox/profile";

/** The additions to a build whose steps trust more certificates. */
export type BuildTrust = {
  /** Texts of files to send, by their paths in the build context */
  readonly files: Readonly<Record<string, string>>;
  readonly buildArgs: Readonly<Record<string, string>>;
};

const PEM = "ca.pem";
const APT = "ca.apt.conf";
// Dockerfile.sandbox copies `docker/` to this folder.
const TARGET = "/context";

/**
 * Returns what makes a build's steps trust certificates in PEM. Unlike a sandbox, a build may reach any host, so the public authorities
 * stay trusted. A Dockerfile gets the variables that it declares as build arguments; they are not in the image's environment.
 */
export function trustInBuild(certificates: string, dockerfile: string): BuildTrust {
  const lines = new Set(
    readFileSync(dockerfile, "utf8")
      .split("\n")
      .map((line) => line.trim()),
  );
  const named = [...Object.keys(CA_ENV).map((name) => [name, PEM] as const), ["APT_CONFIG", APT] as const];
  const taken = named.filter(([name]) => lines.has(`ARG ${name}`));
  return {
    files: {
      [`docker/${PEM}`]: `${[certificates.trim(), ...rootCertificates].join("\n")}\n`,
      [`docker/${APT}`]: `Acquire::https::CAInfo "${TARGET}/${PEM}";\n`,
    },
    buildArgs: Object.fromEntries(taken.map(([name, file]) => [name, `${TARGET}/${file}`])),
  };
}
