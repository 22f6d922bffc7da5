import { type PurgeRecord, PurgeRecords } from '../../../src/purge/purge-records.ts';

/** Records before any purge. The words of a key are its tags. */
export function someRecords({ tagsOf = (key: string) => key.split(' '), onEpoch = () => {}, now = Date.now } = {}) {
  return new PurgeRecords({ tagsOf, onEpoch, now });
}

/** Records after these purges, in their order. */
export function withAll(given: readonly PurgeRecord[], now = Date.now): PurgeRecords {
  const records = someRecords({ now });
  for (const record of given) records.apply(record);
  return records;
}

/** A purge that ends the entries of a tag. */
export const hard = (tag: string, at: number): PurgeRecord => ({ tag, soft: false, at });

/** A purge that makes the entries of a tag stale. */
export const soft = (tag: string, at: number): PurgeRecord => ({ tag, soft: true, at });
