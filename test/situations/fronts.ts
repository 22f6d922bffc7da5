import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Certificate } from '../support/self-signed-certificate.ts';

/** A TLS server that passes everything on to a port of this machine; resolves with its URL. */
export function frontWithTls(port: number, certificate: Certificate, stack: AsyncDisposableStack): Promise<string> {
  const server = createTlsServer(certificate, (client) => {
    const indexer = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [client, indexer],
      [indexer, client],
    ] as const) {
      from.on('error', () => {}).pipe(to);
      from.on('close', () => to.destroy());
    }
  });
  return listening('https', server, stack);
}

/** A provider that answers 401 without this key, and otherwise passes GET on; resolves with its URL. */
export function frontWithKey(port: number, key: string, stack: AsyncDisposableStack): Promise<string> {
  const server = createServer(({ headers, url: path }, response) => {
    if (headers['x-api-key'] !== key) {
      response.writeHead(401, { 'Content-Type': 'application/json' }).end('{"error":"API key does not exist"}');
      return;
    }
    request({ host: '127.0.0.1', port, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    })
      .on('error', () => response.destroy())
      .end();
  });
  return listening('http', server, stack);
}

async function listening(scheme: string, server: Server, stack: AsyncDisposableStack): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  stack.defer(() => void server.close());
  // A TCP server that listens on a port has this form of address.
  const { port } = server.address() as AddressInfo;
  return `${scheme}://127.0.0.1:${port}`;
}
