import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EVERY_CORE, freePort, PinnedProcess } from '../peers/pinned-process.ts';
import { findProgram } from '../peers/required-programs.ts';

/** nginx with `limit_req` for each address: its operator has to know the numbers, here 20 a second and 100 at once. */
export async function startNginxLimit(port: number): Promise<AsyncDisposable & { readonly port: number }> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await mkdtempDisposable(join(tmpdir(), 'toncache-limit-'))).path;
  const own = await freePort();
  const file = join(folder, 'nginx.conf');
  await writeFile(file, configuration(folder, own, port));
  stack.use(
    await PinnedProcess.start({
      ...{ cores: EVERY_CORE, program: await findProgram('nginx'), args: ['-p', folder, '-c', file, '-e', 'stderr'] },
      ...{ cwd: folder, environment: {}, port: own, logFile: join(folder, 'nginx.log') },
    }),
  );
  const started = stack.move();
  return { port: own, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

function configuration(folder: string, port: number, toncachePort: number): string {
  return `${process.getuid?.() === 0 ? 'user root;\n' : ''}worker_processes 1; daemon off; pid ${folder}/pid; error_log stderr crit;
events { worker_connections 8192; }
http {
  access_log off; keepalive_requests 1000000;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header X-Forwarded-For $remote_addr;
  limit_req_zone $binary_remote_addr zone=clients:10m rate=20r/s; limit_req_status 429;
  upstream toncache { server 127.0.0.1:${toncachePort}; keepalive 256; keepalive_requests 1000000; }
  server { listen 127.0.0.1:${port} backlog=4096; limit_req zone=clients burst=100 nodelay; location / { proxy_pass http://toncache; } }
}
`;
}
