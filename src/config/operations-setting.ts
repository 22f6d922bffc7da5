import { z } from 'zod';
import { CACHED_ALWAYS, FURTHER, OPERATION_NAMES, type OperationName } from '../ton/operation-names.ts';
import { nearestTo } from './nearest-name.ts';
import { listOf } from './values.ts';

/** Stands for all operations. */
const ALL = 'all';

const isKnown = (name: string): name is OperationName => OPERATION_NAMES.some((known) => known === name);

const name = z.string().refine((given) => given === ALL || isKnown(given), {
  error: ({ input }) => {
    const nearest = nearestTo(String(input), [...OPERATION_NAMES, ALL]);
    const meant = nearest === undefined ? '' : `: is ${nearest} meant?`;
    return `must be ${ALL}, or of ${FURTHER.join(', ')}, separated by commas${meant}`;
  },
});

const listed = (names: readonly string[]) => names.map((each) => `\`${each}\``).join(', ');

/** What the setting is. */
export const OPERATIONS_DESCRIPTION = `Further operations that are cached beside ${listed(CACHED_ALWAYS)}: \`${ALL}\`, or names separated by commas, of ${listed(FURTHER)} ([more](answers.md#further-operations)).`;

/** Names of operations, to a list; `all` names each one. */
export const furtherOperations = listOf(name).transform((names): readonly OperationName[] =>
  names.includes(ALL) ? OPERATION_NAMES : names.filter(isKnown),
);
