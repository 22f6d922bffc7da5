import type { Settings } from '../config/schema.ts';
import { credentialsFor, placeOf } from '../indexer/credentials.ts';

/** One indexer of the settings. */
export type IndexerSettings = ReturnType<typeof indexersIn>[number];

/** The indexers of the settings, backups last. */
export function indexersIn({ upstream: { backup, ...main } }: Settings) {
  const all = [
    ...main.url.map((url) => ({ ...main, url, isBackup: false })),
    ...(backup.url ?? []).map((url) => ({ ...backup, url, isBackup: true })),
  ];
  return all.map(({ url, apiKey, maxConcurrency, requestsPerSecond, isBackup }, index) => ({
    /** Host and port. */
    name: new URL(url).host,
    /** Its address, without a login. */
    url: placeOf(url),
    /** What identifies us there. */
    ours: credentialsFor(url, apiKey),
    maxConcurrency,
    requestsPerSecond,
    isBackup,
    /** Its place in the settings. */
    index,
    isOne: all.length === 1,
  }));
}
