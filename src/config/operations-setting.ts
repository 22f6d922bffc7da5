import { z } from 'zod';
import { CACHED_ALWAYS, FURTHER, OPERATION_NAMES, type OperationName } from '../ton/operation-names.ts';
import { OPERATIONS } from '../ton/operations.ts';
import { didYouMean, nearestTo } from './nearest-name.ts';
import { listOf } from './values.ts';

/** Stands for all operations. */
export const ALL = 'all';

/** Stands for the rest of the API: requests for other paths are joined. */
export const PASS_THROUGH = 'passthrough';

const isKnown = (name: string): name is OperationName => OPERATION_NAMES.some((known) => known === name);

const name = z.string().refine((given) => given === ALL || given === PASS_THROUGH || isKnown(given), {
  error: ({ input }) => {
    const nearest = nearestTo(String(input), [...OPERATION_NAMES, ALL, PASS_THROUGH]);
    return `must be ${ALL}, or of ${[...FURTHER, PASS_THROUGH].join(', ')}, separated by commas${didYouMean(nearest)}`;
  },
});

const listed = (names: readonly string[]) => names.map((each) => `\`${each}\``).join(', ');

export const OPERATIONS_DESCRIPTION = `Operations that toncache caches in addition to those that are always cached (${listed(CACHED_ALWAYS)}). Set \`${ALL}\`, or a comma-separated list of these names: ${listed(FURTHER)} ([more](requests.md#further-operations)). With \`${PASS_THROUGH}\` in the list and \`PASSTHROUGH=on\`, toncache also collapses identical \`GET\` requests for all other paths below \`/api/v3/\` ([more](../how-to/pass-through.md#identical-requests-for-the-rest-of-the-api)).`;

const withBlocks = (names: readonly OperationName[]): readonly OperationName[] =>
  names.some((each) => OPERATIONS.get(each)?.evidence !== undefined)
    ? [...new Set([...names, 'transactionsByMasterchainBlock' as const])]
    : names;

/**
 * Parses the names into a list. `all` becomes every operation. An operation whose answers blocks prove also adds
 * `transactionsByMasterchainBlock`, because the proof reads the blocks. `passthrough` stays in the list, and so does
 * `all`: `compose/open-operations.ts` adds those that it alone does not open.
 */
export const furtherOperations = listOf(name).transform(
  (names): readonly (OperationName | typeof PASS_THROUGH | typeof ALL)[] => [
    ...(names.includes(ALL)
      ? OPERATION_NAMES.filter((each) => names.includes(each) || !mustBeNamed(each))
      : withBlocks(names.filter(isKnown))),
    ...([PASS_THROUGH, ALL] as const).filter((word) => names.includes(word)),
  ],
);

/** True if {@link ALL} does not open an operation everywhere. */
export const mustBeNamed = (operation: OperationName) => OPERATIONS.get(operation)?.isNamedToPass === true;
