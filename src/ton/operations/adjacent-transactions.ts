import { z } from 'zod';
import { type CanonicalRequest, flagHeader, pairs } from '../canonical-request.ts';
import { operation } from '../operation.ts';
import { direction, flag, hash } from '../parameters.ts';

const schema = z.object({ hash, direction, x_no_address_book: flag, 'x-no-address-book': flag }).transform(
  (given): CanonicalRequest => ({
    query: pairs({ hash: given.hash, direction: given.direction }),
    headers: flagHeader('X-No-Address-Book', given['x-no-address-book'], given.x_no_address_book),
  }),
);

/** The parent of a transaction (`direction=in`), its children (`out`), or both. */
export const adjacentTransactions = operation({
  name: 'adjacentTransactions',
  schema,
  lists: ['transactions'],
});
