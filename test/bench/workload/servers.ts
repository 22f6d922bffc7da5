import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EVERY_CORE, freePort, PinnedProcess } from '../peers/pinned-process.ts';
import { findProgram } from '../peers/required-programs.ts';

// nginx and Varnish as an expert would configure them for this indexer: lifetimes for each operation, one load for all who
// wait for the same URL, stale answers during a refresh. They cannot read the finality of an answer, and cannot see that
// two URLs ask for the same thing.

/** A server that accepts requests at a port of 127.0.0.1. */
export interface Server extends AsyncDisposable {
  readonly port: number;
}

/** Starts a server, given a folder that does not exist yet. Rejects with its log when it does not start. */
export type StartServer = (folder: string, indexerPort: number) => Promise<Server>;

interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** nginx, whose shortest lifetime is one second. */
export const startNginx: StartServer = (folder, indexerPort) =>
  start(folder, async (port) => {
    const file = join(folder, 'nginx.conf');
    await writeFile(file, nginxConfiguration(folder, indexerPort, port));
    return { program: await findProgram('nginx'), args: ['-p', folder, '-c', file, '-e', 'stderr'] };
  });

/** Varnish, with its cache in memory. */
export const startVarnish: StartServer = (folder, indexerPort) =>
  start(folder, async (port) => {
    const file = join(folder, 'default.vcl');
    await writeFile(file, varnishConfiguration(indexerPort));
    const place = ['-n', join(folder, 'varnish'), '-a', `127.0.0.1:${port}`, '-T', 'none'];
    return { program: await findProgram('varnishd'), args: ['-F', ...place, '-f', file, '-s', 'malloc,256m'] };
  });

/** toncache with its defaults, and with the streaming API of the indexer where it is asked for. */
export function startToncache(streams: readonly 'STREAM_URL'[]): StartServer {
  return (folder, indexerPort) =>
    start(folder, async (port) => {
      const stream = Object.fromEntries(streams.map((name) => [name, `ws://127.0.0.1:${indexerPort}`]));
      const upstream = { UPSTREAM_URL: `http://127.0.0.1:${indexerPort}`, ...stream };
      const environment = { PORT: String(port), ADMIN_PORT: '0', ...upstream };
      return { program: process.execPath, args: ['src/main.ts'], cwd: ROOT, environment };
    });
}

async function start(folder: string, commandAt: (port: number) => Promise<Command>): Promise<Server> {
  await mkdir(folder);
  const port = await freePort();
  const { program, args, cwd = folder, environment = {} } = await commandAt(port);
  const started = await PinnedProcess.start({
    ...{ program, args, cwd, port, cores: EVERY_CORE, logFile: join(folder, 'log') },
    // Varnish runs a C compiler to load its configuration.
    environment: { PATH: process.env['PATH'], ...environment },
  });
  return { port, [Symbol.asyncDispose]: () => started[Symbol.asyncDispose]() };
}

/** Where root starts nginx, its workers would run as another user, who cannot write to the folder. */
function nginxConfiguration(folder: string, indexerPort: number, port: number): string {
  return `${process.getuid?.() === 0 ? 'user root;\n' : ''}worker_processes 1; daemon off; pid ${folder}/pid; error_log stderr warn;
events { worker_connections 8192; }
http {
  access_log off;
  sendfile on; tcp_nopush on; keepalive_requests 1000000;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  proxy_cache_path ${folder}/cache levels=1:2 keys_zone=answers:64m max_size=256m inactive=1h use_temp_path=off;
  proxy_http_version 1.1; proxy_set_header Connection "";
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
  }
}
`;
}

/** With the lifetimes of toncache as far as URL and status decide them. */
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
