import { freePort } from '../../support/free-port.ts';
import { startNginx, startVarnish } from '../support/other-caches.ts';
import { type Server, startToncache } from '../support/processes.ts';
import type { Case } from './cases.ts';

export interface Peer extends Server {
  readonly name: string;
  /** Put in front of the path of a miss, to bypass the cache; '' if misses use keys that were never requested. */
  readonly missPrefix: string;
  /** Its port for a case. Undefined if the server takes no part in it. */
  portFor(compared: Case): number | undefined;
}

/** A toncache from this source, with these variables, that takes part in some cases. */
export async function toncachePeer(
  cores: string,
  indexerUrl: string,
  { name, source, env = {} }: { name: string; source: string; env?: Readonly<Record<string, string>> },
  takesPart: (compared: Case) => boolean,
): Promise<Peer> {
  const server = await startToncache({ UPSTREAM_URL: indexerUrl, ...env }, { source, cores });
  const portFor = (compared: Case) => (takesPart(compared) ? server.port : undefined);
  return Object.assign(server, { name, missPrefix: '', portFor });
}

/**
 * A tuned nginx cache, with a `server` for each: best for 2 and 20 KB, best for 200 KB, and with `gzip on`. Measured:
 * `tcp_nopush on` saves a tenth of the CPU time at 2 and 20 KB, and costs three times as much at 200 KB.
 */
export async function nginxPeer(cores: string, indexerUrl: string): Promise<Peer> {
  const [large, gzip] = [await freePort(), await freePort()];
  const at = (port: number, directives: string) => `
  server {
    listen 127.0.0.1:${port} backlog=4096;
    ${directives}
    location / {
      proxy_pass http://indexer;
      proxy_cache answers; proxy_cache_key $uri$is_args$args; proxy_cache_valid 200 1h; proxy_cache_lock on;
    }
    location /pass/ { proxy_pass http://indexer/; proxy_buffers 32 16k; proxy_buffer_size 16k; }
  }`;
  const packing = 'tcp_nopush on; gzip on; gzip_types application/json; gzip_proxied any; gzip_min_length 1000;';
  const http = (small: number, folder: string) => `  sendfile on; sendfile_max_chunk 1m; tcp_nodelay on;
  reset_timedout_connection on; keepalive_requests 100000000; keepalive_timeout 600s;
  open_file_cache max=20000 inactive=600s; open_file_cache_valid 600s; open_file_cache_min_uses 1;
  proxy_cache_path ${folder}/cache levels=1:2 keys_zone=answers:64m max_size=2g inactive=24h use_temp_path=off;
  upstream indexer { server ${new URL(indexerUrl).host}; keepalive 64; keepalive_requests 100000000; }
${at(small, 'tcp_nopush on;')}
${at(large, 'tcp_nopush off;')}
${at(gzip, packing)}`;
  const server = await startNginx(http, cores);
  const portFor = ({ load, gzip: packed, sizeKb }: Case) => {
    const plain = sizeKb > 100 ? large : server.port;
    return load === 'redis' ? undefined : packed ? gzip : plain;
  };
  return Object.assign(server, { name: 'nginx', missPrefix: '/pass', portFor });
}

/**
 * Answers requested through the socket `packed` are kept and sent compressed. Those requested through `plain` are kept
 * uncompressed: otherwise Varnish would decompress them for every client.
 */
export async function varnishPeer(cores: string, indexerUrl: string): Promise<Peer> {
  const packed = await freePort();
  const { hostname, port } = new URL(indexerUrl);
  const vcl = `vcl 4.1;
backend default { .host = "${hostname}"; .port = "${port}"; }
sub vcl_recv {
  set req.http.X-Socket = local.socket;
  if (req.url ~ "^/pass/") { return (pass); }
}
sub vcl_hash { hash_data(req.http.X-Socket); }
sub vcl_backend_response {
  set beresp.ttl = 1h;
  if (bereq.http.X-Socket == "packed") { set beresp.do_gzip = true; }
}
`;
  // A large answer needs the space of many small ones. By default Varnish evicts at most 50 for it, or fails.
  const nuke = ['-p', 'nuke_limit=100000'];
  const server = await startVarnish(vcl, cores, ['-a', `packed=127.0.0.1:${packed}`, ...nuke]);
  const portFor = ({ load, gzip }: Case) => (load === 'redis' ? undefined : gzip ? packed : server.port);
  return Object.assign(server, { name: 'Varnish', missPrefix: '/pass', portFor });
}
