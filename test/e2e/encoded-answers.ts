import { gunzipSync } from 'node:zlib';
import type { Reply } from '../support/start-proxy.ts';
import { ANY_WORLD } from './world.ts';

export const WITH_REDIS = { ...ANY_WORLD, tiers: 'memory and Redis' } as const;

export const accepting = (acceptEncoding: string, more = {}) => ({
  headers: { 'Accept-Encoding': acceptEncoding, ...more },
});
export const encodingOf = ({ headers }: Pick<Reply, 'headers'>) => headers['content-encoding'];

export function decoded(reply: Pick<Reply, 'headers' | 'bytes'>): string {
  return (encodingOf(reply) === 'gzip' ? gunzipSync(reply.bytes) : reply.bytes).toString();
}
