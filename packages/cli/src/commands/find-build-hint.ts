/** A build of an image that failed. */
export type FailedBuild = {
  /** The engine's last error */
  readonly failure: string;
  /** The last lines of the steps' output */
  readonly output: readonly string[];
  /** True if the steps trusted a file of the user's */
  readonly hasCaFile: boolean;
  /** True for the image of a project, whose build takes no options of its own; default false */
  readonly isProject?: boolean | undefined;
};

/** Returns a build's failure as sentences: the cause, and what to try. */
export function formatBuildFailure(cause: string, build: FailedBuild): string {
  const hint = findBuildHint(build);
  return hint === "" || cause.endsWith(".") ? `${cause} ${hint}`.trim() : `${cause}. ${hint}`;
}

/** Finds the sentence that says what to try after a build that failed for want of a network; empty for any other. */
export function findBuildHint(build: FailedBuild): string {
  // The engine itself fetches the base image, outside any step.
  const isInStep = /non-zero code|exit (?:code|status)/i.test(build.failure);
  return isInStep ? findStepHint(build) : findBaseHint(build);
}

function findStepHint({ failure, hasCaFile, isProject, output }: FailedBuild): string {
  const said = [failure, ...output].join("\n");
  if (CERTIFICATE.test(said)) return hasCaFile ? OTHER_CA_FILE : CA_FILE;
  if (!UNREACHED.test(said)) return "";
  return isProject ? PROJECT_NETWORK : NETWORK;
}

function findBaseHint({ failure, isProject }: FailedBuild): string {
  const end = isProject ? "." : OTHER_BASE;
  if (CERTIFICATE.test(failure)) return `${ENGINE_TRUST}${end}`;
  return UNREACHED.test(failure) ? `${BASE}${end}` : "";
}

// The wordings of Go, curl, OpenSSL, GnuTLS, Node and apt.
const CERTIFICATE =
  /x509:|self[- ]signed certificate|certificate verif|unable to get (?:local )?issuer|SELF_SIGNED_CERT|UNABLE_TO_(?:GET|VERIFY)|server certificate|SSL certificate problem/i;

const UNREACHED =
  /no such host|could(?: not|n't) resolve|temporary failure (?:in name resolution|resolving)|EAI_AGAIN|ENOTFOUND|i\/o timeout|TLS handshake timeout|connection (?:refused|timed out)|network is unreachable|could not connect|ETIMEDOUT|ECONNREFUSED|Unable to locate package|dial tcp/i;

const CA_FILE = "Your network seems to inspect TLS: name its certificates with --ca-file FILE.";

const OTHER_CA_FILE =
  "The server's certificate is not in the file of --ca-file, nor public: name one that has its authority.";

const NETWORK =
  "The build's steps reached no server: build in your machine's network with --network host, or name a proxy with " +
  "--build-arg HTTPS_PROXY=URL --build-arg HTTP_PROXY=URL, or a mirror, such as with --build-arg NPM_REGISTRY=URL.";

const ENGINE_TRUST =
  "The engine does not trust the registry's certificate: install your network's certificates where the engine runs, and start it " +
  "again";

const BASE = "The engine could not fetch the base image: give the engine a proxy or a registry mirror";

const OTHER_BASE = ", or name an image that it has with --build-arg BASE_IMAGE=IMAGE.";

const PROJECT_NETWORK =
  "The build's steps reached no server: the engine's own network has to reach it, or the Dockerfile has to name a mirror that it reaches.";
