# The image contains the npm package and the dependencies of package-lock.json.
# Nothing in it depends on the CPU architecture, so one build serves all platforms.
# The platform of the building machine. Docker without BuildKit does not set BUILDPLATFORM: `linux` means this machine's.
ARG BUILDER=${BUILDPLATFORM:-linux}
FROM --platform=$BUILDER node:24-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json LICENSE ./
COPY docs ./docs
COPY src ./src
RUN mkdir /app && npm pack --pack-destination /app && tar -xzf /app/toncache-*.tgz -C /app --strip-components=1 && rm /app/*.tgz
RUN cp package-lock.json .npmrc /app && cd /app && npm ci --omit=dev --ignore-scripts

FROM node:24-slim
ARG VERSION=0.1.0
ARG REVISION=unknown
# The address of the sources; the release workflow sets it.
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="toncache" \
  org.opencontainers.image.description="A read-through caching proxy for the TON indexer API (toncenter /api/v3)" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.authors="The toncache authors" \
  org.opencontainers.image.source="${SOURCE}" \
  org.opencontainers.image.url="${SOURCE}" \
  org.opencontainers.image.documentation="${SOURCE}" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}"
WORKDIR /app
ENV HOST=0.0.0.0 ADMIN_HOST=0.0.0.0
# Without this V8's young generation takes up to 100 MiB more (docs/background/benchmarks.md). An own NODE_OPTIONS replaces it.
ENV NODE_OPTIONS=--max-semi-space-size=32
COPY --from=build /app /app
COPY config/*.json ./config/
USER node
EXPOSE 8080 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
  CMD ["node", "dist/cli/healthcheck.js"]
ENTRYPOINT ["node", "dist/cli/main.js"]
CMD ["start"]
