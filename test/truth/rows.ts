import type { Call } from './call.ts';

/**
 * The part of a body that the blocks of a call's own accounts change. A list of transfers contains balances of the
 * senders' wallets among its names.
 */
export function rowsIn({ operation }: Call, text: string): string {
  if (operation !== 'jetton/transfers') return text;
  const names = text.indexOf(',"address_book":');
  return names === -1 ? text : text.slice(0, names);
}
