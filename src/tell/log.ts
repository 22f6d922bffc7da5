import type { Logger } from 'pino';
import { duration, type Ms } from '../time-units.ts';
import type { ConditionName } from './conditions.ts';
import type { Condition } from './present-conditions.ts';

const WORDS = { failing: 'FAILING', degraded: 'DEGRADED', note: 'NOTE' } as const;

/** Their own lines say more. */
const UNLOGGED: readonly ConditionName[] = ['key-paused', 'shutting-down', 'bug'];

/** Writes a line at the beginning and at the end of each condition. */
export function conditionLog(logger: Logger) {
  const fieldsOf = ({ name, upstream, operation, section }: Condition) => ({
    condition: name,
    ...(upstream !== undefined && { upstream }),
    ...(operation !== undefined && { operation }),
    runbook: `docs/incidents.md#${section}`,
  });
  return {
    onBegin: (condition: Condition): void => {
      if (UNLOGGED.includes(condition.name)) return;
      const level = condition.level === 'failing' ? 'error' : 'warn';
      logger[level](fieldsOf(condition), `${WORDS[condition.level]}: ${condition.says}`);
    },
    onEnd: (condition: Condition, lastedMs: Ms): void => {
      if (UNLOGGED.includes(condition.name)) return;
      const lasted = duration(1000 * Math.round(lastedMs / 1000));
      logger.info(fieldsOf(condition), `over after ${lasted}: ${condition.says}`);
    },
  };
}
