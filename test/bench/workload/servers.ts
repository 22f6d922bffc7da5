import { startNginx, startVarnish } from '../support/other-caches.ts';
import { type Server, startToncache } from '../support/processes.ts';

// nginx and Varnish as an expert would configure them for this indexer: lifetimes for each operation, one load for all
// clients of the same URL, stale answers during a refresh. They can neither read the finality of an answer nor see that
// two URLs mean the same call.

/** Starts a server in front of the indexer at a port. */
export type StartServer = (indexerPort: number) => Promise<Server>;

/** By their names in the table; toncache with its defaults. */
export const SERVERS: Readonly<Record<string, StartServer | undefined>> = {
  direct: undefined,
  nginx: (indexerPort) => startNginx((port, folder) => nginxConfiguration(folder, indexerPort, port)),
  Varnish: (indexerPort) => startVarnish(varnishConfiguration(indexerPort)),
  toncache: (indexerPort) => startToncache({ UPSTREAM_URL: `http://127.0.0.1:${indexerPort}` }),
};

/** The `http` block of nginx, whose shortest lifetime is one second. */
function nginxConfiguration(folder: string, indexerPort: number, port: number): string {
  return `  sendfile on; tcp_nopush on; keepalive_requests 1000000;
  proxy_cache_path ${folder}/cache levels=1:2 keys_zone=answers:64m max_size=256m inactive=1h use_temp_path=off;
  proxy_cache answers; proxy_cache_key $request_uri$http_x_actions_version;
  proxy_cache_lock on; proxy_cache_use_stale updating error timeout http_500 http_502 http_503 http_504;
  proxy_cache_background_update on;
  upstream indexer { server 127.0.0.1:${indexerPort}; keepalive 64; }
  server {
    listen 127.0.0.1:${port};
    location = /api/v3/pendingTraces {
      proxy_pass http://indexer; proxy_cache_valid 200 1s;
    }
    location = /api/v3/adjacentTransactions {
      if ($arg_direction = in) { rewrite ^(.*)$ /one-parent$1 last; }
      proxy_pass http://indexer; proxy_cache_valid 200 2s; proxy_cache_valid 404 1s;
    }
    location /one-parent/ {
      internal; proxy_pass http://indexer/; proxy_cache_valid 200 1h; proxy_cache_valid 404 1s;
    }
    location = /api/v3/masterchainBlockShards {
      proxy_pass http://indexer; proxy_cache_valid 200 24h; proxy_cache_valid 404 1s;
    }
    location / { proxy_pass http://indexer; proxy_cache off; }
  }`;
}

/** With the lifetimes of toncache, as far as URL and status determine them. */
function varnishConfiguration(indexerPort: number): string {
  return `vcl 4.1;
backend default { .host = "127.0.0.1"; .port = "${indexerPort}"; }
sub vcl_hash { hash_data(req.http.X-Actions-Version); }
sub vcl_backend_response {
  set beresp.keep = 0s;
  if (beresp.status == 404) {
    set beresp.ttl = 300ms; set beresp.grace = 0s;
  } else if (beresp.status != 200) {
    set beresp.ttl = 0s; set beresp.uncacheable = true;
  } else if (bereq.url ~ "^/api/v3/pendingTraces") {
    set beresp.ttl = 400ms; set beresp.grace = 400ms;
  } else if (bereq.url ~ "^/api/v3/adjacentTransactions.*[?&]direction=in(&|$)") {
    set beresp.ttl = 1h; set beresp.grace = 10m;
  } else if (bereq.url ~ "^/api/v3/adjacentTransactions") {
    set beresp.ttl = 1s; set beresp.grace = 1s;
  } else if (bereq.url ~ "^/api/v3/masterchainBlockShards") {
    set beresp.ttl = 24h; set beresp.grace = 10m;
  } else {
    set beresp.ttl = 0s; set beresp.uncacheable = true;
  }
}
`;
}
