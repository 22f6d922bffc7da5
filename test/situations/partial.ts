import { failed, rateLimited } from '../../src/tools/simulator/faults.ts';
import { type Indexer, startIndexer } from '../../src/tools/simulator/indexer.ts';
import { freePort } from '../support/free-port.ts';
import { closeIndexer, type Scene, type Situation } from './scene.ts';

type Injected = Parameters<Indexer['faults']['inject']>;

const PASSED = '/api/v3/nft/items?offset=';
const POISONED = Buffer.from('poisoned'.padEnd(32, '.')).toString('base64url');

const passed = async () => ({ PASSTHROUGH: 'on' });
const hashOf = (place: number) => Buffer.from(`more ${place}`.padEnd(32, '.')).toString('base64url');

/** Clients are told apart, as behind an ingress that is trusted. */
const APART = { clients: { trustedProxies: '127.0.0.1' } };

const onPassed =
  (fault: Injected[0]) =>
  ({ indexers }: Scene): void => {
    for (const { faults } of indexers) faults.inject(fault, { query: '/nft/' });
  };

/** A server for streams of its own. */
async function ownStreams(scene: Scene) {
  const streams = await startIndexer({ port: await freePort() });
  scene.stack.defer(() => streams.close().catch(() => {}));
  // The requests of clients are for the first one.
  scene.indexers = [...scene.indexers, streams];
  return { PASSTHROUGH: 'on', STREAM_URL: `ws://127.0.0.1:${streams.port}/api/streaming/v2/ws` };
}

/** Situations in which only some requests fail, and those after a repair. */
export const PARTIAL: Readonly<Record<string, Situation>> = {
  'passed 502': {
    around: passed,
    settings: APART,
    asks: [{ everyMs: 50, target: (place) => `${PASSED}${place}` }],
    cause: onPassed(failed(502)),
    level: 'DEGRADED',
  },
  'passed hang': {
    around: async () => ({ ...(await passed()), UPSTREAM_TIMEOUT: '2s' }),
    settings: APART,
    asks: [{ everyMs: 50, target: (place) => `${PASSED}${place}` }],
    cause: onPassed({ kind: 'hang' }),
    level: 'FAILING',
  },
  'streams refused': {
    around: ownStreams,
    settings: APART,
    asks: [{ everyMs: 500, target: () => '/api/streaming/v2/sse', isStream: true }],
    cause: ({ indexers: [, streams] }) => streams && closeIndexer(streams),
    level: 'FAILING',
  },
  402: {
    around: passed,
    settings: APART,
    asks: [{ everyMs: 100, target: (place) => `${PASSED}${place}` }],
    cause: ({ indexers: [indexer] }) =>
      indexer?.faults.inject({ kind: 'answer', status: 402, body: '{"error":"your plan is used up"}' }),
    level: 'FAILING',
  },
  'both of two down': {
    indexers: 2,
    settings: APART,
    cause: ({ indexers }) => Promise.all(indexers.map(closeIndexer)),
    level: 'FAILING',
  },
  'a limited client': {
    settings: { clients: { ...APART.clients, requestsPerSecond: 20 } },
    cause: (scene) => {
      scene.crawler = '10.9.7.7';
    },
    asks: [
      { everyMs: 25, client: '10.9.7.7', target: (place) => `/api/v3/pendingTraces?ext_msg_hash=${hashOf(place)}` },
    ],
    level: 'OK',
  },
  'one poisoned key': {
    settings: APART,
    asks: [{ everyMs: 200, client: '10.9.7.7', target: () => `/api/v3/adjacentTransactions?hash=${POISONED}` }],
    cause: ({ indexers: [indexer] }) =>
      indexer?.faults.inject(rateLimited('json', '1'), { query: POISONED.slice(0, 10) }),
    level: 'DEGRADED',
  },
  'a request each 20 s, down': {
    isQuiet: true,
    asks: [{ everyMs: 20_000, target: (place) => `/api/v3/adjacentTransactions?hash=${hashOf(place)}` }],
    cause: ({ indexers: [indexer] }) => indexer && closeIndexer(indexer),
    level: 'FAILING',
    // FAILING needs a minute without an answer.
    withinSeconds: 90,
  },
  'after a repair': {
    around: passed,
    settings: APART,
    asks: [
      { everyMs: 20, target: (place) => `/api/v3/adjacentTransactions?hash=${hashOf(place % 40)}` },
      { everyMs: 100, target: (place) => `${PASSED}${place}` },
    ],
    cause: ({ indexers: [indexer] }) => indexer && closeIndexer(indexer),
    level: 'FAILING',
  },
};
