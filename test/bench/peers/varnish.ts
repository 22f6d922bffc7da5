import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Peer, PeerSetting } from './peer.ts';
import { freePort, PinnedProcess } from './pinned-process.ts';
import { findProgram } from './required-programs.ts';

/**
 * The configuration of Varnish. Answers requested through the socket `packed` are kept and sent compressed. Those requested
 * through `plain` are kept uncompressed: otherwise Varnish would decompress them for every client.
 */
function configuration(indexerPort: number): string {
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
`;
}

/** Starts Varnish with its cache in memory. Rejects with its log when it does not start. */
export async function startVarnish({ cores, indexerPort, folder }: PeerSetting): Promise<Peer> {
  const ports = { plain: await freePort(), packed: await freePort() };
  const file = join(folder, 'default.vcl');
  await writeFile(file, configuration(indexerPort));
  const sockets = Object.entries(ports).flatMap(([name, port]) => ['-a', `${name}=127.0.0.1:${port}`]);
  const started = await PinnedProcess.start({
    cores,
    program: await findProgram('varnishd'),
    args: ['-F', '-n', join(folder, 'varnish'), '-f', file, '-s', 'malloc,1g', '-T', 'none', ...sockets],
    cwd: folder,
    // Varnish runs a C compiler to load its configuration.
    environment: { PATH: process.env['PATH'] },
    port: ports.packed,
    logFile: join(folder, 'varnish.log'),
  });
  return {
    name: 'Varnish',
    pid: started.pid,
    missPrefix: '/pass',
    originFor: ({ kind, gzip }) =>
      kind === 'redis' ? undefined : `http://127.0.0.1:${gzip ? ports.packed : ports.plain}`,
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}
