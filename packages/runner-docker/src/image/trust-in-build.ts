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
  const paths = { [PEM]: `${PROJECT_TARGET}/${PEM}`, [APT]: `${PROJECT_TARGET}/${APT}` };
  const variables = [...Object.keys(CA_ENV).map((name) => [name, PEM] as const), ["APT_CONFIG", APT] as const];
  const added = [`COPY ${folder}/ ${PROJECT_TARGET}/`, ...variables.map(([name]) => `ARG ${name}`)];
  return {
    dockerfile: addAfterFrom(dockerfile, added),
    files: {
      [`${folder}/${PEM}`]: `${[certificates.trim(), ...rootCertificates].join("\n")}\n`,
      [`${folder}/${APT}`]: `Acquire::https::CAInfo "${paths[PEM]}";\n`,
    },
    buildArgs: Object.fromEntries(variables.map(([name, file]) => [name, paths[file]])),
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
