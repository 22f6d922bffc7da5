import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Peer, PeerSetting } from './peer.ts';
import { freePort, PinnedProcess } from './pinned-process.ts';
import { findProgram } from './required-programs.ts';

/** A port for each `server`: best for 2 and 20 KB, best for 200 KB, and with `gzip on`. */
type Ports = Readonly<Record<'small' | 'large' | 'gzip', number>>;

/**
 * The configuration of a tuned nginx cache, without an access log, because toncache writes none. Measured: `tcp_nopush on`
 * saves a tenth of the CPU time at 2 and 20 KB, and costs three times as much at 200 KB. Where root starts nginx, its
 * workers would run as another user, who cannot write to the folder.
 */
function configuration(folder: string, indexerPort: number, ports: Ports): string {
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
  return `${process.getuid?.() === 0 ? 'user root;\n' : ''}worker_processes 1; daemon off; pid ${folder}/pid; error_log stderr warn;
worker_rlimit_nofile 65536;
events { worker_connections 8192; multi_accept on; }
http {
  access_log off;
  sendfile on; sendfile_max_chunk 1m; tcp_nodelay on; reset_timedout_connection on;
  keepalive_requests 100000000; keepalive_timeout 600s;
  open_file_cache max=20000 inactive=600s; open_file_cache_valid 600s; open_file_cache_min_uses 1;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  proxy_cache_path ${folder}/cache levels=1:2 keys_zone=answers:64m max_size=2g inactive=24h use_temp_path=off;
  proxy_http_version 1.1; proxy_set_header Connection "";
  upstream indexer { server 127.0.0.1:${indexerPort}; keepalive 64; keepalive_requests 100000000; }
${server(ports.small, 'tcp_nopush on;')}
${server(ports.large, 'tcp_nopush off;')}
${server(ports.gzip, gzip)}
}
`;
}

/** Starts nginx. Rejects with its log when it does not start. */
export async function startNginx({ cores, indexerPort, folder }: PeerSetting): Promise<Peer> {
  const ports = { small: await freePort(), large: await freePort(), gzip: await freePort() };
  const file = join(folder, 'nginx.conf');
  await writeFile(file, configuration(folder, indexerPort, ports));
  const started = await PinnedProcess.start({
    cores,
    program: await findProgram('nginx'),
    args: ['-p', folder, '-c', file, '-e', 'stderr'],
    cwd: folder,
    environment: {},
    port: ports.gzip,
    logFile: join(folder, 'nginx.log'),
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
