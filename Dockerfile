# One image for the services of docker-compose.yml: Odin, and the Redis that they share.
FROM node:24-bookworm-slim

RUN apt-get update \
    && apt-get install -y --no-install-recommends git bubblewrap redis-server ca-certificates \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/odin
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
RUN node scripts/build.mjs && ln -s /opt/odin/bin/odin.js /usr/local/bin/odin

# Whatever user the services run as, these can be written.
RUN mkdir -m 1777 /home/odin
ENV HOME=/home/odin ODIN_HOME=/home/odin/state

ENTRYPOINT []
CMD ["odin", "--help"]
