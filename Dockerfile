FROM node:24-slim
WORKDIR /app
ENV HOST=0.0.0.0 ADMIN_HOST=0.0.0.0
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force
COPY config ./config
COPY src ./src
USER node
EXPOSE 8080 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
  CMD ["node", "src/healthcheck.ts"]
CMD ["node", "-r", "./src/require-node-24.cjs", "src/main.ts"]
