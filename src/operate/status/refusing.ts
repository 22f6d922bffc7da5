import { FAILURES } from '../../failures/codes.ts';
import { sentenceOf } from '../../failures/sentence.ts';
import type { Growth } from '../samples.ts';
import { duration } from '../text-table.ts';
import { type Cause, type Failures, type Impairment, whyFailed, whyShed } from './causes.ts';
import type { LastMinute } from './last-minute.ts';
import { FEWEST, unansweredIn } from './unanswered.ts';

/** If more than this part of the requests gets no answer, it is an outage. */
const BAD_PART = 0.01;

/**
 * This many failures in a minute are an outage even if no window has {@link FEWEST}: 20 in the 5 minutes of the alert.
 */
const FEWEST_IN_A_MINUTE = 4;

/** The maximum number of limited networks that are named. */
const MOST_NETWORKS = 3;

/** The section of docs/incidents.md on limits of clients. */
export const LIMITED = 'clients-ask-for-more-than-their-limit';

/** The refusals in the window. */
export function refusingIn(growth: Growth, failures: Failures): Impairment | undefined {
  const { limited, failed, asked, isMostlyLimited } = unansweredIn(growth);
  if (isMostlyLimited) {
    const cause = `${whoIsLimited(failures)}: if that is your proxy, set TRUSTED_PROXIES`;
    return { summary: `refusing ${percent(limited + failed, limited + asked)}`, cause, runbook: LIMITED };
  }
  if (failed < FEWEST || failed <= BAD_PART * asked) return undefined;
  return { summary: `refusing ${percent(failed, asked)}${operationsOf(growth)}`, ...whyUnanswered(growth, failures) };
}

/** The failures of the last minute, if the last 10 s show too few of them. */
export function refusingInMinute(minute: LastMinute, failures: Failures): Impairment | undefined {
  const { failed, asked } = unansweredIn(minute.growth);
  if (failed < FEWEST_IN_A_MINUTE || failed <= BAD_PART * asked) return undefined;
  return ofMinute(minute, failures);
}

/** The failures of the last minute, and their cause; `undefined` without failures. */
export function ofMinute(minute: LastMinute, failures: Failures): Impairment | undefined {
  const { failed } = unansweredIn(minute.growth);
  return failed > 0 ? { summary: saidOfMinute(minute), ...whyUnanswered(minute.growth, failures) } : undefined;
}

/** Describes the last minute: `3 % failed in the last minute (pendingTraces), none for 12 s`. */
export function saidOfMinute({ growth, quietMs }: LastMinute): string {
  const { limited, failed, asked, isMostlyLimited } = unansweredIn(growth);
  if (limited + failed === 0) return 'nothing failed in the last minute';
  const none = quietMs < 1000 ? '' : `, none for ${duration(1000 * Math.round(quietMs / 1000))}`;
  return isMostlyLimited || failed === 0
    ? `${percent(limited + failed, limited + asked)} refused in the last minute${none}`
    : `${percent(failed, asked)} failed in the last minute${operationsOf(growth)}${none}`;
}

const percent = (part: number, all: number) => `${Math.max(1, Math.round((100 * part) / Math.max(1, all)))} %`;

function whyUnanswered(growth: Growth, failures: Failures): Cause {
  const code = growth.most('request_failures_total', 'code', (each) => each !== 'too-many-requests');
  return code === 'overloaded'
    ? whyShed(growth.most('loads_shed_total', 'reason'), growth, failures)
    : whyFailed(code, growth, failures);
}

/** `10.0.7.0/24 exceeds its limit`. */
export function whoIsLimited({ limited }: Failures): string {
  const [first, ...others] = limited;
  if (first === undefined) return sentenceOf(FAILURES['too-many-requests']);
  if (others.length === 0) return `${first} exceeds its limit`;
  const shown = limited.slice(0, MOST_NETWORKS);
  const rest = limited.length - shown.length;
  const names =
    rest === 0 ? `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}` : `${shown.join(', ')} and ${rest} more`;
  return `${names} exceed their limits`;
}

/**
 * ` (pendingTraces)` if requests for only some of the operations in use get no answer, and not by chance: the others had
 * enough requests that some of these would have failed as well.
 */
function operationsOf(growth: Growth): string {
  const all = growth.after.of('requests_total').map(({ labels }) => String(labels['operation']));
  const used = [...new Set(all)].map((operation) => ({
    operation,
    asked: growth.of('requests_total', { operation }),
    failed: growth.of('requests_total', { operation, outcome: 'failed' }),
  }));
  const sum = (of: readonly { readonly asked: number }[]) => of.reduce((total, { asked }) => total + asked, 0);
  const failing = used.filter(({ failed }) => failed > 0);
  const failed = failing.reduce((total, its) => total + its.failed, 0);
  const others = sum(used) - sum(failing);
  return (failed / sum(used)) * others >= FEWEST ? ` (${failing.map(({ operation }) => operation).join(', ')})` : '';
}
