import type { AppEvent } from '../../src/event-hub.ts';
import { PublicServer, type PublicServerDependencies } from '../../src/http/public/public-server.ts';
import { OperationsInUse } from '../../src/ton/operations.ts';

/** Dependencies of a public server that the tests of the lanes do not use. */
const UNSEEN = {
  operations: new OperationsInUse(),
  bodies: { read: () => Promise.reject(new Error('no operation has a body')) },
  passedPrefixes: [],
  clientOf: () => '127.0.0.1',
  requesterOf: () => ({ client: '127.0.0.1', unreadHeader: undefined }),
  onRequest: () => {},
  countRequest: () => {},
  requestLimit: undefined,
  onClient: () => {},
  onAnswered: undefined,
  monotonic: () => 0,
  report: (event: AppEvent) => {
    if (event.name === 'bug') throw event.error;
  },
  waitMs: 60_000,
  headerTimeoutMs: 60_000,
  maxConnections: 1000,
  slowReaderMs: 60_000,
};

/** A public server with only these dependencies. A bug is thrown. */
export function loneServer(dependencies: Omit<PublicServerDependencies, keyof typeof UNSEEN>): PublicServer {
  return new PublicServer({ ...UNSEEN, ...dependencies });
}
