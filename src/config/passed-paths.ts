import { z } from 'zod';
import { CACHED_ALWAYS, OPERATION_NAMES } from '../ton/operation-names.ts';
import { OPERATIONS } from '../ton/operations.ts';
import { didYouMean, nearestTo } from './nearest-name.ts';
import { flag, listOf } from './values.ts';

/** Stands for the Streaming API below `/api/streaming/`. */
const STREAMING = 'streaming';

/** The paths below `/api/v3/` of all versions of the indexer that are not operations here. */
const OTHER_PATHS = [
  ...['accountStates', 'actions', 'addressBook', 'decode', 'dns/records', 'estimateFee', 'events'],
  ...['jetton/burns', 'jetton/masters', 'jetton/transfers', 'jetton/wallets', 'masterchainBlockShardState'],
  ...['message', 'messages', 'metadata', 'multisig/orders', 'multisig/wallets', 'nft/collections', 'nft/items'],
  ...['nft/sales', 'nft/transfers', 'pendingActions', 'pendingTransactions', 'runGetMethod'],
  ...['topAccountsByBalance', 'vesting', 'walletStates'],
];

const KNOWN = [...OPERATION_NAMES.flatMap((name) => OPERATIONS.get(name)?.paths ?? []), ...OTHER_PATHS, STREAMING];

const ACCEPTED =
  'must be on, off, or paths below /api/v3/ without a slash at either end, separated by commas, like "message, jetton/wallets, streaming"';

const SEGMENT = /(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+/.source;

/** A path below `/api/v3/`. A word of a flag among several names is a mistake. */
const pathName = z
  .string()
  .regex(new RegExp(`^${SEGMENT}(?:/${SEGMENT})*$`), ACCEPTED)
  .refine((name) => !flag.safeParse(name).success, ACCEPTED);

/** On, off, or the names of the paths below `/api/v3/` that are passed through, separated by commas. */
export const passedPaths = z.union([flag, listOf(pathName)], ACCEPTED);

type PassedPaths = z.output<typeof passedPaths>;

export function passesStreams(passed: PassedPaths): boolean {
  return Array.isArray(passed) ? passed.some((name) => name.toLowerCase() === STREAMING) : passed === true;
}

/** The named paths below `/api/v3/`, without the name of the Streaming API. */
export function namedPaths(names: readonly string[]): readonly string[] {
  return names.filter((name) => name.toLowerCase() !== STREAMING);
}

/** Notes for the operator about names that are probably a mistake. */
export function warningsOfPaths(passed: PassedPaths): string[] {
  return Array.isArray(passed) ? passed.flatMap(warningOf) : [];
}

function warningOf(name: string): string[] {
  const lowered = name.toLowerCase();
  if (CACHED_ALWAYS.some((each) => each.toLowerCase() === lowered)) {
    return [`PASSTHROUGH names ${name}, which is always cached and never passed through`];
  }
  if (KNOWN.some((each) => each.toLowerCase() === lowered)) return [];
  const known = [...KNOWN, 'true', 'false', 'on', 'off'];
  const nearest = nearestTo(
    lowered,
    known.map((each) => each.toLowerCase()),
  );
  const meant = known.find((each) => each.toLowerCase() === nearest);
  return [`PASSTHROUGH names ${name}, which no known indexer serves${didYouMean(meant)}`];
}

/** The open paths in addition to the cached operations, for a line of text. */
export function shownPaths(passed: PassedPaths, prefixes: readonly string[]): string {
  if (passed === false) return 'nothing';
  const paths = passed === true ? prefixes.map((prefix) => `all paths below ${prefix}`) : namedPaths(passed);
  return [...paths, passesStreams(passed) ? 'streams' : 'no streams'].join(', ');
}
