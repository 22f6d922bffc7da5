import { type App, createApp } from '../app.ts';
import type { Settings } from '../config/schema.ts';
import { createLogger } from '../operate/logger.ts';
import type { ConditionName } from '../tell/conditions.ts';
import type { Condition } from '../tell/episode.ts';
import { duration } from '../time-units.ts';
import { tlsMismatch } from './redis-tls.ts';
import { withTlsAdvice } from './tls-advice.ts';

/** The result of the check of one service that toncache uses. */
export interface ConnectCheck {
  readonly service: string;
  /** The facts, or the sentence of the condition. */
  readonly found: string;
  /** The condition that is wrong; absent if none is. */
  readonly condition?: ConditionName;
  /** True if toncache cannot use it in this state. */
  readonly isWrong: boolean;
  /** True if toncache must not be started: the service is not just away, or it is an indexer and no other is usable. */
  readonly isFatal: boolean;
  /** True if it can be used, but lacks something that clients may request. */
  readonly isLacking?: true;
}

/** Conditions of an indexer that only a change of the settings, or of the indexer, ends. */
const OF_SETTINGS: readonly ConditionName[] = ['key-refused', 'other-chain', 'lacks-block', 'no-head'];

/** The conditions of an indexer that does not name its newest block, the one that explains most first. */
const OF_AWAY: readonly ConditionName[] = ['not-reached', 'paused', 'key-paused', 'indexer-error'];

/** Redis' answers if the password, the rights, the topology or the name of the primary differ from the settings. */
const REDIS_REFUSES =
  /^(?:NOAUTH|WRONGPASS|NOPERM|DENIED|MOVED|ERR(?! max number of clients))\b|No such master|node of a Cluster/;

/** A clock with a larger difference is worth a look; entries are still dated correctly. */
const WORTH_A_LOOK_MS = 1000;

/** Tries all services as an instance uses them, without being one. Never rejects. */
export async function connectChecks(settings: Settings): Promise<ConnectCheck[]> {
  const app = await createApp({ logger: createLogger('silent'), instance: '' }, settings);
  const checked = await app.check();
  const isNoneUsable = checked.indexers.every((indexer) => problemOf(indexer, checked) !== undefined);
  return [
    ...checked.indexers.flatMap((indexer) => checksOfIndexer(indexer, checked, isNoneUsable)),
    ...(await checksOfRedis(checked, settings)),
    ...checksOfStream(checked),
  ].map((check) => ({ ...check, found: withTlsAdvice(check.found) }));
}

type Checked = Awaited<ReturnType<App['check']>>;
type CheckedIndexer = Checked['indexers'][number];

const conditionsOf = ({ name }: CheckedIndexer, { conditions }: Checked) =>
  conditions.filter(({ upstream }) => upstream === name);

/** Why an indexer cannot be used; `undefined` if it can be. */
function problemOf(indexer: CheckedIndexer, checked: Checked): Pick<Condition, 'name' | 'says'> | undefined {
  const present = conditionsOf(indexer, checked);
  const first = (names: readonly ConditionName[]) =>
    names.flatMap((name) => present.find((condition) => condition.name === name) ?? [])[0];
  if (!indexer.isUsable) return first([...OF_SETTINGS, ...OF_AWAY]) ?? { name: 'silent', says: 'it does not answer' };
  return first(OF_SETTINGS);
}

function checksOfIndexer(indexer: CheckedIndexer, checked: Checked, isNoneUsable: boolean): ConnectCheck[] {
  const service = `indexer ${indexer.name}`;
  const problem = problemOf(indexer, checked);
  if (problem !== undefined) {
    const isFatal = isNoneUsable || OF_SETTINGS.includes(problem.name);
    return [{ service, found: problem.says, condition: problem.name, isWrong: true, isFatal }];
  }
  const { newestBlock, ageMs } = indexer;
  const age = ageMs === undefined ? '' : `, ${duration(Math.max(0, ageMs))} old`;
  const found = `answers; newest masterchain block ${newestBlock}${age}`;
  const lacking = conditionsOf(indexer, checked).map(({ name, operation = '', says }): ConnectCheck => {
    const subject = says.includes(operation) ? '' : `${operation}: `;
    return { service, found: subject + says, condition: name, isWrong: false, isFatal: false, isLacking: true };
  });
  return [{ service, found, isWrong: false, isFatal: false }, ...lacking];
}

async function checksOfRedis(
  { redis, conditions }: Checked,
  { redis: { url, tlsCaFile } }: Settings,
): Promise<ConnectCheck[]> {
  if (redis === undefined || url === undefined) return [];
  const problem = conditions.find(({ name }) => name === 'redis-unavailable');
  if (problem !== undefined) {
    const { name, why } = problem;
    const isFatal = REDIS_REFUSES.test(why);
    const mismatch = isFatal ? undefined : await tlsMismatch(url, tlsCaFile);
    const found = `cannot be ${isFatal ? 'used' : 'reached'}: ${mismatch ?? why}`;
    return [{ service: 'Redis', found, condition: name, isWrong: true, isFatal }];
  }
  const { aheadMs } = redis;
  const difference = `its clock is ${duration(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead' : 'behind'}`;
  const found = `answers; ${Math.abs(aheadMs) <= WORTH_A_LOOK_MS ? 'same time' : difference}`;
  return [{ service: 'Redis', found, isWrong: false, isFatal: false }];
}

/** Without the stream, all requests are answered. */
function checksOfStream({ stream }: Checked): ConnectCheck[] {
  if (stream === undefined) return [];
  const { host, failure } = stream;
  const found = failure === undefined ? 'answers' : `cannot be reached: ${failure}`;
  return [{ service: `stream ${host}`, found, isWrong: failure !== undefined, isFatal: false }];
}
