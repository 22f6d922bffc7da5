import { isObject, type JsonObject } from '../json-object.ts';
import { POLICIES, ROWS } from '../ton/lifetime-table.ts';
import { type Environment, removeAt, valueAt } from './setting-source.ts';

/** A setting that earlier versions had: a path in the file, with everything below it, or a variable, or both. */
interface RemovedSetting {
  readonly path?: string;
  readonly env?: string;
  /** Completes "is no longer a setting: ": what replaces it, or the reason why nothing does. */
  readonly instead: string;
}

/** The paths of removed settings and groups, with what replaces each. */
const INSTEAD: Readonly<Record<string, string>> = {
  'admission.overloadedPatience': 'it is fixed at 100ms',
  'admission.maxQueue': 'it is fixed at 10000',
  'admission.shares': 'they are fixed, by operation',
  breaker: 'an operation needs 20 keys in 10s to open its breaker, which is open for 1s to 5s',
  coalescing: 'a load can be joined for 1s, and a failure answers its key for 250ms',
  'clients.burst': 'it is the requests of one second',
  'http.maxWaiting': 'http.maxConnections bounds waiting requests, one of each connection',
  'lifetimes.emptyWatched': 'the freshness by push is gone: an empty list of pending traces is kept like any other',
  'memory.maxEntries': 'MEMORY_MAX_SIZE (memory.maxSize) bounds them, each with 800 bytes on top of its body',
  'passThrough.maxBufferedSize': 'it is fixed at 64MiB',
  'passThrough.maxTransfers': 'it is fixed at 256',
  'redis.commandTimeout': 'it is fixed at 1s; requests only wait for redis.budget',
  'redis.connectTimeout': 'it is fixed at 1s',
  'redis.failuresToOpen': 'it is fixed at 3',
  'redis.maxPendingWriteSize': 'it is a sixteenth of MEMORY_MAX_SIZE (memory.maxSize)',
  'redis.maxPendingWrites': 'a sixteenth of MEMORY_MAX_SIZE (memory.maxSize) bounds their bytes',
  'redis.openDuration': 'it is fixed at 1s',
  'stream.maxAddresses': 'the freshness by push is gone: clients subscribe themselves, through the same port',
};

/** Every removed setting. It causes a warning and never a refusal: an upgrade must not stop at an old file. */
export const REMOVED_SETTINGS: readonly RemovedSetting[] = [
  ...Object.entries(INSTEAD).map(([path, instead]) => ({ path, instead })),
  ...removedRows(),
];

/** Each row of the table of lifetimes was a group of settings, for its lifetime and its stale windows. */
function removedRows(): RemovedSetting[] {
  const { notKept: _, ...rows } = ROWS;
  return Object.entries(rows).flatMap(([rule, { setBy }]): RemovedSetting | RemovedSetting[] => {
    const path = `lifetimes.${rule}`;
    if (setBy === undefined) return { path, instead: 'the row is fixed' };
    const names = setBy === 'growing' ? 'lifetimes.growingMin and lifetimes.growingMax set' : `lifetimes.${setBy} sets`;
    const instead = `${names} its lifetime; the rest of the row is fixed`;
    // These two rows have the names of settings.
    if (rule === setBy) return Object.keys(POLICIES.head).map((time) => ({ path: `${path}.${time}`, instead }));
    return { path, instead };
  });
}

interface Given {
  readonly environment: Environment;
  readonly inFile: JsonObject;
}

/** Takes the removed settings out of the environment and the file, with a warning for each that has a value. */
export function withoutRemoved(given: Given, removed = REMOVED_SETTINGS): Given & { readonly warnings: string[] } {
  const environment = { ...given.environment };
  const inFile = structuredClone(given.inFile);
  const warnings = removed.flatMap(({ path: dotted, env, instead }) => {
    const path = dotted?.split('.') ?? [];
    const inThis = dotted === undefined ? [] : namesBelow(dotted, valueAt(inFile, path));
    if (dotted !== undefined) removeAt(inFile, path);
    const names = env !== undefined && environment[env] ? [env, ...inThis] : inThis;
    if (env !== undefined) delete environment[env];
    if (names.length === 0) return [];
    return `${names.join(', ')} ${names.length === 1 ? 'is no longer a setting' : 'are no longer settings'}: ${instead}`;
  });
  return { environment, inFile, warnings };
}

/** The names that the file has at this path and below it. */
function namesBelow(name: string, value: unknown): string[] {
  if (value === undefined) return [];
  if (!isObject(value) || Object.keys(value).length === 0) return [name];
  return Object.entries(value).flatMap(([child, inner]) => namesBelow(`${name}.${child}`, inner));
}
