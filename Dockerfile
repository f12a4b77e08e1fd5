# The default image for agents, unless you bring your own. Build it with "budgie build-image"; docs/sandbox-image.md explains
# the arguments. It needs no BuildKit.
ARG BASE_IMAGE=debian:bookworm-slim

# Kiro's programs, from a separate stage, so that its archives and tools stay out of the image.
FROM ${BASE_IMAGE} AS kiro
ARG KIRO_CLI=installer
COPY docker/ /context/
RUN set -eu; \
    export DEBIAN_FRONTEND=noninteractive HOME=/opt/kiro KIRO_CLI_SKIP_SETUP=1; \
    mkdir -p /opt/kiro /opt/kiro-links; \
    case "$KIRO_CLI" in \
      installer) \
        apt-get update; \
        apt-get install -y --no-install-recommends bash ca-certificates curl unzip; \
        curl -fsSL https://cli.kiro.dev/install -o /tmp/install-kiro; \
        bash /tmp/install-kiro; \
        programs=/opt/kiro/.local/bin ;; \
      context) \
        cp -a /context/kiro-cli/. /opt/kiro/ || { echo "KIRO_CLI=context takes docker/kiro-cli/bin/kiro-cli of the build context." >&2; exit 1; }; \
        programs=/opt/kiro/bin ;; \
      none) \
        exit 0 ;; \
      *) \
        echo "KIRO_CLI must be installer, context or none, not \"$KIRO_CLI\"." >&2; \
        exit 1 ;; \
    esac; \
    test -x "$programs/kiro-cli" || { echo "There is no kiro-cli in $programs." >&2; exit 1; }; \
    chmod -R a+rX,go-w /opt/kiro; \
    ln -s "$programs"/* /opt/kiro-links/

FROM ${BASE_IMAGE}

ARG TOOLS="ca-certificates curl git jq ripgrep tree"
ARG EXTRA_PACKAGES=""
RUN set -eu; \
    export DEBIAN_FRONTEND=noninteractive; \
    if [ -n "$TOOLS$EXTRA_PACKAGES" ]; then \
      apt-get update; \
      apt-get install -y --no-install-recommends $TOOLS $EXTRA_PACKAGES; \
      rm -rf /var/lib/apt/lists/*; \
    fi

# A version of Eclipse Temurin, such as 21; empty for none.
ARG JDK_VERSION=""
RUN set -eu; \
    export DEBIAN_FRONTEND=noninteractive; \
    if [ -n "$JDK_VERSION" ]; then \
      apt-get update; \
      apt-get install -y --no-install-recommends ca-certificates curl; \
      mkdir -p /etc/apt/keyrings; \
      curl -fsSL https://packages.adoptium.net/artifactory/api/gpg/key/public -o /etc/apt/keyrings/adoptium.asc; \
      echo "deb [signed-by=/etc/apt/keyrings/adoptium.asc] https://packages.adoptium.net/artifactory/deb $(. /etc/os-release; echo "$VERSION_CODENAME") main" \
        >/etc/apt/sources.list.d/adoptium.list; \
      apt-get update; \
      apt-get install -y --no-install-recommends "temurin-$JDK_VERSION-jdk"; \
      rm -rf /var/lib/apt/lists/*; \
    fi

# A minor release of Kubernetes, such as 1.34; empty for none.
ARG KUBECTL_VERSION=""
RUN set -eu; \
    export DEBIAN_FRONTEND=noninteractive; \
    if [ -n "$KUBECTL_VERSION" ]; then \
      packages="https://pkgs.k8s.io/core:/stable:/v$KUBECTL_VERSION/deb/"; \
      apt-get update; \
      apt-get install -y --no-install-recommends ca-certificates curl; \
      mkdir -p /etc/apt/keyrings; \
      curl -fsSL "${packages}Release.key" -o /etc/apt/keyrings/kubernetes.asc; \
      echo "deb [signed-by=/etc/apt/keyrings/kubernetes.asc] $packages /" >/etc/apt/sources.list.d/kubernetes.list; \
      apt-get update; \
      apt-get install -y --no-install-recommends kubectl; \
      rm -rf /var/lib/apt/lists/*; \
    fi

# Agents from npm, such as @qwen-code/qwen-code@0.15.10; empty for none.
ARG NPM_PACKAGES=""
ARG NPM_REGISTRY="https://registry.npmjs.org/"
RUN set -eu; \
    if [ -n "$NPM_PACKAGES" ]; then \
      command -v npm >/dev/null || { echo "NPM_PACKAGES takes a BASE_IMAGE with npm, such as node:22-bookworm-slim." >&2; exit 1; }; \
      npm install --global --prefix /usr/local --registry "$NPM_REGISTRY" --cache /tmp/npm --no-audit --no-fund $NPM_PACKAGES; \
      rm -rf /tmp/npm; \
      chmod -R a+rX,go-w /usr/local/lib/node_modules; \
    fi

COPY --from=kiro /opt/kiro/ /opt/kiro/
COPY --from=kiro /opt/kiro-links/ /usr/local/bin/
COPY docker/entrypoint.sh /usr/local/bin/sandbox-entrypoint

# For running the image by hand, under any uid. budgie itself runs it as its caller, with a separate home.
RUN set -eu; \
    chmod 755 /usr/local/bin/sandbox-entrypoint; \
    useradd --non-unique --uid 1000 --no-create-home --home-dir /home/agent --shell /bin/sh agent; \
    mkdir -p /home/agent /workspace; \
    chmod 1777 /home/agent; \
    chown 1000:1000 /workspace
ENV HOME=/home/agent
USER 1000:1000
WORKDIR /workspace
ENTRYPOINT ["/usr/local/bin/sandbox-entrypoint"]
CMD ["/bin/sh"]
