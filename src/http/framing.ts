import type { IncomingMessage } from 'node:http';
import { ProxyError } from '../errors.ts';

/**
 * Why the framing of a request is refused, whatever it asks for; `undefined` when it is not. Node's HTTP server would
 * accept these: another version than 1.0 and 1.1, a request line without a version (HTTP/0.9), and a transfer coding
 * other than chunked or in HTTP/1.0, which a server before or behind this one may read in another way (RFC 9112 6.1).
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
  if (encoding === undefined) return undefined;
  if (httpVersion === '1.0') {
    return new ProxyError(
      'unsupported-encoding',
      'Transfer-Encoding is not part of HTTP/1.0; accepted: Content-Length',
    );
  }
  if (encoding.trim().toLowerCase() === 'chunked') return undefined;
  return new ProxyError('unsupported-encoding', 'Transfer-Encoding is not supported as it is given; accepted: chunked');
}
