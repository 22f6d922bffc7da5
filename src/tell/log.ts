import type { Logger } from 'pino';
import type { ConditionName } from './conditions.ts';
import type { Episode } from './episode.ts';
import { ageOf, causeOf, sentencesOf } from './episode-words.ts';

/** Their own lines say more. */
const UNLOGGED: readonly ConditionName[] = ['key-paused', 'shutting-down', 'bug'];

/** Writes a line at the beginning and at the end of each episode; for a note, at its beginning. `all`: the number of indexers. */
export function episodeLog(logger: Logger, all: number) {
  const fieldsOf = ({ cause, indexers, operations }: Episode) => ({
    condition: cause.name,
    ...(indexers.length > 0 && { upstream: indexers.join(', ') }),
    ...(operations > 0 && { operations }),
    ...(cause.why !== '' && { reason: cause.why }),
    runbook: `docs/incidents.md#${cause.section}`,
  });
  const isLogged = ({ cause }: Episode) => !UNLOGGED.includes(cause.name);
  return {
    onBegin: (episode: Episode): void => {
      const level = episode.level === 'failing' ? 'error' : 'warn';
      if (isLogged(episode))
        logger[level](fieldsOf(episode), `${episode.level.toUpperCase()}: ${sentencesOf(episode, all)}`);
    },
    onEnd: (episode: Episode): void => {
      const { level, since, until = since } = episode;
      if (level !== 'note' && isLogged(episode))
        logger.info(fieldsOf(episode), `over after ${ageOf(until - since)}: ${causeOf(episode, all)}`);
    },
  };
}
