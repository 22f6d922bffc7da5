import { chmod, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { debianProgram } from '../../support/apt.ts';
import { freePort } from '../../support/free-port.ts';
import { type Server, startServer } from './processes.ts';

/**
 * Starts nginx with one worker and without an access log, because toncache writes no access log; `httpAt`: its `http`
 * block.
 */
export async function startNginx(httpAt: (port: number, folder: string) => string, cores?: string): Promise<Server> {
  return await inFolder(async (folder) => {
    const port = await freePort();
    // If root starts nginx, its workers run as another user, who cannot write to the folder.
    const user = process.getuid?.() === 0 ? 'user root;\n' : '';
    const configuration = `${user}worker_processes 1; daemon off; pid ${folder}/pid; error_log stderr crit;
worker_rlimit_nofile 65536;
events { worker_connections 8192; multi_accept on; }
http {
  access_log off;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  proxy_http_version 1.1; proxy_set_header Connection "";
${httpAt(port, folder)}
}
`;
    const file = join(folder, 'nginx.conf');
    await writeFile(file, configuration);
    const nginx = await debianProgram('nginx', 'nginx-light');
    return await startServer([nginx, '-p', folder, '-c', file, '-e', 'stderr'], cores, port);
  });
}

/** Starts Varnish with its cache in memory; `sockets`: further ones, as options. */
export async function startVarnish(vcl: string, cores?: string, sockets: readonly string[] = []): Promise<Server> {
  return await inFolder(async (folder) => {
    const port = await freePort();
    const file = join(folder, 'default.vcl');
    await writeFile(file, vcl);
    const listen = ['-a', `plain=127.0.0.1:${port}`, ...sockets];
    const args = ['-F', '-n', join(folder, 'varnish'), '-f', file, '-s', 'malloc,1g', '-T', 'none', ...listen];
    return await startServer([await debianProgram('varnishd', 'varnish'), ...args], cores, port);
  });
}

/** Gives a server its own folder, which is removed after its end. */
async function inFolder(start: (folder: string) => Promise<Server>): Promise<Server> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(await mkdtempDisposable(join(tmpdir(), 'toncache-bench-')));
  // Varnish reads its configuration as another user.
  await chmod(path, 0o755);
  const { port, pid } = stack.use(await start(path));
  const started = stack.move();
  return { port, pid, [Symbol.asyncDispose]: () => started.disposeAsync() };
}
