import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { buildJavaTrustStore, CA_ENV, JAVA_TRUST } from "@budgie/sandbox/profile";

/** The additions to a build whose steps trust more certificates. */
export type BuildTrust = {
  /** The contents of files to send, by their paths in the build context */
  readonly files: Readonly<Record<string, string | Buffer>>;
  readonly buildArgs: Readonly<Record<string, string>>;
};

const PEM = "ca.pem";
const APT = "ca.apt.conf";
const JAVA = "ca.p12";
// Dockerfile.sandbox copies `docker/` to this folder.
const TARGET = "/context";

/**
 * Returns what makes the steps of a project's build trust certificates in PEM, and its Dockerfile with that: after each `FROM`, the variables as
 * build arguments, which are not in the image's environment, and a copy of the file, which stays in the image and which nothing there uses.
 * Files are named by `key`, so that none of the project's own can be one of them.
 */
export function trustInProject(
  certificates: string,
  dockerfile: string,
  key: string,
): BuildTrust & { readonly dockerfile: string } {
  const folder = `budgie-${key}`;
  const buildArgs = buildVariables(PROJECT_TARGET);
  const added = [`COPY ${folder}/ ${PROJECT_TARGET}/`, ...Object.keys(buildArgs).map((name) => `ARG ${name}`)];
  return {
    dockerfile: addAfterFrom(dockerfile, added),
    files: buildFiles(certificates, { folder, target: PROJECT_TARGET }),
    buildArgs,
  };
}

const PROJECT_TARGET = "/etc/budgie-build";

/** Adds lines after each `FROM`, which may go over several lines. */
function addAfterFrom(dockerfile: string, added: readonly string[]): string {
  let isInside = false;
  let isFrom = false;
  const lines = dockerfile.split("\n").flatMap((line) => {
    // Neither ends an instruction that goes on.
    if (/^\s*#/.test(line) || (isInside && line.trim() === "")) return [line];
    if (!isInside) isFrom = /^\uFEFF?\s*FROM\s/i.test(line);
    isInside = /\\[ \t]*\r?$/.test(line);
    return isFrom && !isInside ? [line, ...added] : [line];
  });
  return lines.join("\n");
}

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
  const taken = Object.entries(buildVariables(TARGET)).filter(([name]) => lines.has(`ARG ${name}`));
  return {
    files: buildFiles(certificates, { folder: "docker", target: TARGET }),
    buildArgs: Object.fromEntries(taken),
  };
}

/** Returns the variables that name the files in a folder of the build's containers. */
function buildVariables(target: string): Readonly<Record<string, string>> {
  return {
    ...Object.fromEntries(Object.keys(CA_ENV).map((name) => [name, `${target}/${PEM}`])),
    APT_CONFIG: `${target}/${APT}`,
    JAVA_TOOL_OPTIONS: `${JAVA_TRUST}${target}/${JAVA}`,
  };
}

type Folders = {
  /** The folder of the build context */
  readonly folder: string;
  /** The folder of the build's containers that becomes a copy of it */
  readonly target: string;
};

function buildFiles(certificates: string, { folder, target }: Folders): BuildTrust["files"] {
  const pem = `${[certificates.trim(), ...rootCertificates].join("\n")}\n`;
  return {
    [`${folder}/${PEM}`]: pem,
    [`${folder}/${APT}`]: `Acquire::https::CAInfo "${target}/${PEM}";\n`,
    [`${folder}/${JAVA}`]: buildJavaTrustStore(pem),
  };
}
