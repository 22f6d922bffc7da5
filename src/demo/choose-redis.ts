import { connectRedis } from '../redis/connect.ts';
import { describeRedisUrl } from '../redis-url.ts';
import { findRedisProgram, LocalRedis } from './local-redis.ts';

/** The Redis that the demo works with. Disposing ends it if it is the demo's own. */
export interface ChosenRedis extends AsyncDisposable {
  /** Undefined for memory alone. */
  readonly url: string | undefined;
  /** Which one it is and why, for people. */
  readonly description: string;
}

const CONNECT_TIMEOUT_MS = 2000;

/** The given Redis, else one started for the demo, else none; never rejects. */
export async function chooseRedis(givenUrl: string | undefined, searchPath: string): Promise<ChosenRedis> {
  if (givenUrl !== undefined) {
    const where = `REDIS_URL, ${describeRedisUrl(givenUrl)}`;
    const failure = await whyUnreachable(givenUrl);
    return foreign(
      givenUrl,
      failure === undefined ? where : `${where}, does not answer (${failure}): memory alone until it does`,
    );
  }
  const program = findRedisProgram(searchPath);
  if (program === undefined) {
    return foreign(undefined, 'none: memory alone (no redis-server 7 or newer on PATH, and REDIS_URL is not set)');
  }
  try {
    const own = await LocalRedis.start(program);
    return {
      url: `redis://127.0.0.1:${own.port}`,
      description: `redis-server ${program.version} on port ${own.port}, started for the demo (${program.path})`,
      [Symbol.asyncDispose]: () => own[Symbol.asyncDispose](),
    };
  } catch (error) {
    return foreign(undefined, `none: memory alone (${error instanceof Error ? error.message : String(error)})`);
  }
}

function foreign(url: string | undefined, description: string): ChosenRedis {
  return { url, description, [Symbol.asyncDispose]: async () => {} };
}

async function whyUnreachable(url: string): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const connection = connectRedis({
    url,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    commandTimeoutMs: CONNECT_TIMEOUT_MS,
    onTransition: (transition) => resolve(transition.state === 'connected' ? undefined : transition.reason),
  });
  const timer = setTimeout(resolve, 2 * CONNECT_TIMEOUT_MS, 'no answer in time');
  const failure = await promise;
  clearTimeout(timer);
  await connection.close();
  return failure;
}
