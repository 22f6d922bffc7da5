import { z } from 'zod';
import { CACHED_ALWAYS, FURTHER, OPERATION_NAMES, type OperationName } from '../ton/operation-names.ts';
import { OPERATIONS } from '../ton/operations.ts';
import { nearestTo } from './nearest-name.ts';
import { listOf } from './values.ts';

/** Stands for all operations. */
const ALL = 'all';

/** Stands for the rest of the API: requests for other paths are joined. */
export const PASS_THROUGH = 'passthrough';

const isKnown = (name: string): name is OperationName => OPERATION_NAMES.some((known) => known === name);

const name = z.string().refine((given) => given === ALL || given === PASS_THROUGH || isKnown(given), {
  error: ({ input }) => {
    const nearest = nearestTo(String(input), [...OPERATION_NAMES, ALL, PASS_THROUGH]);
    const meant = nearest === undefined ? '' : `: did you mean ${nearest}?`;
    return `must be ${ALL}, or of ${[...FURTHER, PASS_THROUGH].join(', ')}, separated by commas${meant}`;
  },
});

const listed = (names: readonly string[]) => names.map((each) => `\`${each}\``).join(', ');

export const OPERATIONS_DESCRIPTION = `Further operations that are cached in addition to ${listed(CACHED_ALWAYS)}: \`${ALL}\`, or names separated by commas, of ${listed(FURTHER)} ([more](answers.md#further-operations)); and \`${PASS_THROUGH}\`: with \`PASSTHROUGH=on\` equal requests for the rest of \`/api/v3/\` are sent once ([more](../how-to/pass-through.md#equal-requests-for-the-rest-of-the-api)).`;

const withBlocks = (names: readonly OperationName[]): readonly OperationName[] =>
  names.some((each) => OPERATIONS.get(each)?.evidence !== undefined)
    ? [...new Set([...names, 'transactionsByMasterchainBlock' as const])]
    : names;

/**
 * Parses the names into a list. `all` becomes every operation. An operation whose answers blocks prove also adds
 * `transactionsByMasterchainBlock`, because the proof reads the blocks. `passthrough` stays in the list.
 */
export const furtherOperations = listOf(name).transform((names): readonly (OperationName | typeof PASS_THROUGH)[] => [
  ...(names.includes(ALL) ? OPERATION_NAMES : withBlocks(names.filter(isKnown))),
  ...(names.includes(PASS_THROUGH) ? ([PASS_THROUGH] as const) : []),
]);
