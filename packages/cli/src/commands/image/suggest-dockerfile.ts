import type { Tool, ToolName } from "./find-tools.ts";

/** Returns a Dockerfile that adds tools to an image which has the agents' programs. */
export function suggestDockerfile(tools: readonly Tool[], base: string): string {
  const steps = tools.map(({ file, name, version }) => [`# ${file}: ${name} ${version}`, ...STEPS[name](version)]);
  return `${[[`FROM ${base}`], ...steps].map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

// The official images of the tools, on the same Debian as budgie's own. Their variables tell agents of the versions.
const STEPS: Readonly<Record<ToolName, (version: string) => readonly string[]>> = {
  node: (version) => [
    `COPY --from=node:${version}-bookworm-slim /usr/local/ /usr/local/`,
    `ENV NODE_VERSION=${version}`,
  ],
  python: (version) => [
    "RUN apt-get update && apt-get install -y --no-install-recommends libbz2-1.0 libffi8 liblzma5 libreadline8 libsqlite3-0 libssl3 && rm -rf /var/lib/apt/lists/*",
    `COPY --from=python:${version}-slim-bookworm /usr/local/ /usr/local/`,
    "RUN ldconfig",
    `ENV PYTHON_VERSION=${version}`,
  ],
  go: (version) => [
    `COPY --from=golang:${version}-bookworm /usr/local/go/ /usr/local/go/`,
    `ENV GOLANG_VERSION=${version} PATH=/usr/local/go/bin:$PATH`,
  ],
  rust: (version) => [
    "RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*",
    `COPY --from=rust:${version}-slim-bookworm /usr/local/rustup/ /usr/local/rustup/`,
    `COPY --from=rust:${version}-slim-bookworm /usr/local/cargo/ /usr/local/cargo/`,
    `ENV RUST_VERSION=${version} RUSTUP_HOME=/usr/local/rustup PATH=/usr/local/cargo/bin:$PATH`,
  ],
};
