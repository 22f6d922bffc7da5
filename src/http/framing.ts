import type { IncomingMessage } from 'node:http';
import { ProxyError } from '../errors.ts';

/**
 * Why a request is refused for the way it is written, whatever it asks for; `undefined` when it is not. Node serves
 * these: a version that nobody speaks on this port, a request line without a version (HTTP/0.9), and a body that it would
 * hand over encoded, which a server behind this one may read in another way (RFC 9112 6.1).
 */
export function refusedFraming(request: IncomingMessage): ProxyError | undefined {
  const { httpVersion, headers } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return new ProxyError(
      'unsupported-version',
      `HTTP/${httpVersion} is not spoken here; accepted: HTTP/1.1, HTTP/1.0`,
    );
  }
  const encoding = headers['transfer-encoding'];
  if (encoding === undefined || encoding.trim().toLowerCase() === 'chunked') return undefined;
  return new ProxyError('unsupported-encoding', 'Transfer-Encoding is not supported as it is given; accepted: chunked');
}
