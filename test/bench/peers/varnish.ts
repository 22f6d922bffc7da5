import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Peer, PeerSetting } from './peer.ts';
import { freePort, PinnedProcess } from './pinned-process.ts';

/**
 * Varnish as a cache. What is asked for on the socket `packed` is kept and sent compressed; what is asked for on `plain` is
 * kept as it is, for it would have to be unpacked for every client.
 */
export function varnishConfiguration(indexerPort: number): string {
  return `vcl 4.1;
backend default { .host = "127.0.0.1"; .port = "${indexerPort}"; }
sub vcl_recv {
  set req.http.X-Socket = local.socket;
  if (req.url ~ "^/pass/") { return (pass); }
}
sub vcl_hash { hash_data(req.http.X-Socket); }
sub vcl_backend_response {
  set beresp.ttl = 1h;
  if (bereq.http.X-Socket == "packed") { set beresp.do_gzip = true; }
}
sub vcl_deliver { if (obj.hits > 0) { set resp.http.X-Cache = "HIT"; } }
`;
}

/** Starts Varnish with its cache in memory. Rejects with what it said if it does not start. */
export async function startVarnish({ program, cores, indexerPort, folder }: PeerSetting): Promise<Peer> {
  const ports = { plain: await freePort(), packed: await freePort() };
  const file = join(folder, 'default.vcl');
  await writeFile(file, varnishConfiguration(indexerPort));
  const sockets = Object.entries(ports).flatMap(([name, port]) => ['-a', `${name}=127.0.0.1:${port}`]);
  const started = await PinnedProcess.start({
    cores,
    program,
    args: ['-F', '-n', join(folder, 'varnish'), '-f', file, '-s', 'malloc,1g', '-T', 'none', ...sockets],
    cwd: folder,
    // It compiles its configuration.
    environment: { PATH: process.env['PATH'] },
    port: ports.packed,
    logFile: join(folder, 'varnish.log'),
  });
  return {
    name: 'Varnish',
    pid: started.pid,
    placeOf: ({ kind, gzip }) =>
      kind === 'redis'
        ? undefined
        : { origin: `http://127.0.0.1:${gzip ? ports.packed : ports.plain}`, missPrefix: '/pass' },
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}
