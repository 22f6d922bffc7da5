import { startNginxServer } from '../peers/run-nginx.ts';

/** nginx with `limit_req` for each address: its operator has to know the numbers, here 20 a second and 100 at once. */
export function startNginxLimit(toncachePort: number): Promise<AsyncDisposable & { readonly port: number }> {
  return startNginxServer(
    (port) => `  keepalive_requests 1000000; proxy_set_header X-Forwarded-For $remote_addr;
  limit_req_zone $binary_remote_addr zone=clients:10m rate=20r/s; limit_req_status 429;
  upstream toncache { server 127.0.0.1:${toncachePort}; keepalive 256; keepalive_requests 1000000; }
  server { listen 127.0.0.1:${port} backlog=4096; limit_req zone=clients burst=100 nodelay; location / { proxy_pass http://toncache; } }`,
  );
}
