import { buildConnector } from 'undici';
import type { Ms } from '../time-units.ts';
import { connectByName } from './connect.ts';
import type { Names } from './names.ts';

/** The same as for undici's own connections. */
const KEEP_ALIVE_PROBE_MS: Ms = 60_000;

/**
 * How undici connects to a host by its name, plain or with TLS: the `connect` of a `Pool` or an `Agent`. `timeoutMs` is
 * the timeout of opening a connection, and of a TLS handshake in addition.
 */
export function connectorBy(names: Names, timeoutMs: Ms): buildConnector.connector {
  const secure = buildConnector({ allowH2: false, timeout: timeoutMs });
  return (options, done) => {
    const { hostname, protocol } = options;
    const isSecure = protocol === 'https:';
    const port = Number(options.port || (isSecure ? 443 : 80));
    connectByName(names, { host: hostname, port, timeoutMs }).then(
      ({ socket, address }) => {
        const ready: buildConnector.Callback = (...outcome) => {
          // The certificate of another host also shows that the address is no longer right.
          if (outcome[0] === null) names.worked(hostname, address);
          else names.failed(hostname, address);
          done(...outcome);
        };
        if (isSecure) secure({ ...options, httpSocket: socket }, ready);
        else ready(null, socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_PROBE_MS));
      },
      (error: Error) => done(error, null),
    );
  };
}
