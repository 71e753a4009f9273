# syntax=docker/dockerfile:1
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

# The package as `npm pack` makes it, with what it depends on in the locked versions.
FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm install --no-save --omit=dev --ignore-scripts --no-audit --no-fund
COPY LICENSE README.md ./
COPY bin ./bin
COPY docs/licenses ./docs/licenses
COPY scripts ./scripts
COPY src ./src
COPY web ./web
RUN npm install --prefix web --no-save --ignore-scripts --no-audit --no-fund \
  && cd web && npx vite build --outDir ../.runtime/page
RUN node scripts/pack.ts --into /opt/familiar && mv node_modules /opt/familiar/node_modules

FROM ${NODE_IMAGE}
# bubblewrap is the sandbox of tools; the others are what tools are written in.
RUN apt-get update \
  && apt-get install -y --no-install-recommends bubblewrap ca-certificates curl jq python3 \
  && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/familiar /opt/familiar
RUN ln -s /opt/familiar/bin/familiar /usr/local/bin/familiar \
  && mkdir -m 700 /data \
  && chown node:node /data
# Everything that is kept: /data/.familiar is the home, /data/.cache what can be fetched again.
ENV HOME=/data
VOLUME ["/data"]
WORKDIR /data
USER node
# Asks /readyz: fails with no daemon, with one that hangs or stops, without the database, and on a disk that is almost full.
HEALTHCHECK --interval=30s --timeout=20s --start-period=60s CMD ["node", "/opt/familiar/scripts/launcher/health.cjs"]
ENTRYPOINT ["familiar"]
CMD ["serve"]
