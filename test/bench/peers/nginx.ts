import type { Peer, PeerSetting } from './peer.ts';
import { freePort } from './pinned-process.ts';
import { runNginx } from './run-nginx.ts';

/** A port for each `server`: best for 2 and 20 KB, best for 200 KB, and with `gzip on`. */
type Ports = Readonly<Record<'small' | 'large' | 'gzip', number>>;

/**
 * The `http` block of a tuned nginx cache. Measured: `tcp_nopush on` saves a tenth of the CPU time at 2 and 20 KB, and
 * costs three times as much at 200 KB.
 */
function httpBlock(folder: string, indexerPort: number, ports: Ports): string {
  const server = (port: number, directives: string) => `
  server {
    listen 127.0.0.1:${port} backlog=4096;
    ${directives}
    location / {
      proxy_pass http://indexer;
      proxy_cache answers; proxy_cache_key $uri$is_args$args; proxy_cache_valid 200 1h; proxy_cache_lock on;
    }
    location /pass/ { proxy_pass http://indexer/; proxy_buffers 32 16k; proxy_buffer_size 16k; }
  }`;
  const gzip = 'tcp_nopush on; gzip on; gzip_types application/json; gzip_proxied any; gzip_min_length 1000;';
  return `  sendfile on; sendfile_max_chunk 1m; tcp_nodelay on; reset_timedout_connection on;
  keepalive_requests 100000000; keepalive_timeout 600s;
  open_file_cache max=20000 inactive=600s; open_file_cache_valid 600s; open_file_cache_min_uses 1;
  proxy_cache_path ${folder}/cache levels=1:2 keys_zone=answers:64m max_size=2g inactive=24h use_temp_path=off;
  upstream indexer { server 127.0.0.1:${indexerPort}; keepalive 64; keepalive_requests 100000000; }
${server(ports.small, 'tcp_nopush on;')}
${server(ports.large, 'tcp_nopush off;')}
${server(ports.gzip, gzip)}`;
}

/** Starts nginx. Rejects with its log when it does not start. */
export async function startNginx({ cores, indexerPort, folder }: PeerSetting): Promise<Peer> {
  const ports = { small: await freePort(), large: await freePort(), gzip: await freePort() };
  const started = await runNginx({
    ...{ cores, folder, port: ports.gzip },
    http: httpBlock(folder, indexerPort, ports),
  });
  return {
    name: 'nginx',
    pid: started.pid,
    missPrefix: '/pass',
    originFor: ({ kind, gzip, sizeKb }) => {
      const port = gzip ? ports.gzip : sizeKb > 100 ? ports.large : ports.small;
      return kind === 'redis' ? undefined : `http://127.0.0.1:${port}`;
    },
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}
