import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EVERY_CORE, freePort, PinnedProcess } from './pinned-process.ts';
import { findProgram } from './required-programs.ts';

/** How nginx is started. */
interface NginxOrder {
  /** For its configuration and temporary files; nobody else uses it. */
  readonly folder: string;
  /** nginx is ready once it accepts connections on this port of 127.0.0.1. */
  readonly port: number;
  /** The directives of its `http` block, beside those that all have. */
  readonly http: string;
  /** In the syntax of `taskset -c`; default all. */
  readonly cores?: string;
}

/** Starts nginx with one worker and without an access log, because toncache writes none. Rejects with its log. */
export async function runNginx({ folder, port, http, cores = EVERY_CORE }: NginxOrder): Promise<PinnedProcess> {
  const file = join(folder, 'nginx.conf');
  // Where root starts nginx, its workers would run as another user, who cannot write to the folder.
  const user = process.getuid?.() === 0 ? 'user root;\n' : '';
  const configuration = `${user}worker_processes 1; daemon off; pid ${folder}/pid; error_log stderr crit;
worker_rlimit_nofile 65536;
events { worker_connections 8192; multi_accept on; }
http {
  access_log off;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  proxy_http_version 1.1; proxy_set_header Connection "";
${http}
}
`;
  await writeFile(file, configuration);
  return await PinnedProcess.start({
    cores,
    program: await findProgram('nginx'),
    args: ['-p', folder, '-c', file, '-e', 'stderr'],
    cwd: folder,
    environment: {},
    port,
    logFile: join(folder, 'nginx.log'),
  });
}

/** Starts nginx with a folder and a port of its own; `httpAt`: the directives of its `http` block. */
export async function startNginxServer(
  httpAt: (port: number, folder: string) => string,
): Promise<AsyncDisposable & { readonly port: number }> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), 'toncache-nginx-'))).path;
  const port = await freePort();
  stack.use(await runNginx({ folder, port, http: httpAt(port, folder) }));
  const started = stack.move();
  return { port, [Symbol.asyncDispose]: () => started.disposeAsync() };
}
