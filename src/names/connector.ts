import type { Socket } from 'node:net';
import { buildConnector, errors } from 'undici';
import { isShortage } from '../shortage.ts';
import type { Ms } from '../time-units.ts';
import type { Names } from './names.ts';

/**
 * How undici connects to a host by its name, plain or with TLS: the `connect` of a `Pool` or an `Agent`. `timeoutMs` is
 * the timeout of opening a connection, the look-up and the TLS handshake included. A connection that fails at all
 * remembered addresses is opened once more if the resolver then names another one: no request fails because of a
 * changed address.
 */
export function connectorBy(names: Names, timeoutMs: Ms): buildConnector.connector {
  const open = buildConnector({ allowH2: false, timeout: timeoutMs, ...names.optionsOf(timeoutMs) });
  const attempt = (options: buildConnector.Options, done: buildConnector.Callback, isFirst: boolean): void => {
    const tried: string[] = [];
    const ended: buildConnector.Callback = (...outcome) => {
      const [error] = outcome;
      const isFailure = error !== null && tried.length > 0 && !isShortage(error);
      if (isFailure) names.failed(options.hostname, tried);
      // After a timeout the request has given up.
      if (!isFailure || !isFirst || error instanceof errors.ConnectTimeoutError) {
        done(...outcome);
        return;
      }
      names.find(options.hostname).then(
        (found) => {
          if (found.every(({ address }) => tried.includes(address))) done(...outcome);
          else attempt(options, done, false);
        },
        () => done(...outcome),
      );
    };
    // The cast: by its type it returns nothing.
    const socket = open(options, ended) as unknown as Socket;
    socket.on('lookup', (error, address) => error === null && tried.push(address));
  };
  return (options, done) => attempt(options, done, true);
}
