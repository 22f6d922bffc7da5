/** The selector for each parameter, as in the tags of the operations in `src/ton/operations/`. */
const NAMED = {
  seqno: 'seqno',
  mc_seqno: 'seqno',
  account: 'account',
  address: 'account',
  owner_address: 'account',
  jetton_wallet: 'account',
  hash: 'hash',
  ext_msg_hash: 'hash',
  msg_hash: 'hash',
  tx_hash: 'hash',
  trace_id: 'hash',
  root_hash: 'hash',
  file_hash: 'hash',
};

/**
 * The selector of a purge that covers the answers to a request; `undefined` if only a purge of everything covers them.
 */
export function purgeOf(request) {
  const query = new URLSearchParams(request.slice(request.indexOf('?') + 1).replaceAll('+', '%2B'));
  // A purge names masterchain blocks; a shard block may have the same seqno.
  if ((query.get('workchain') ?? '-1') !== '-1') query.delete('seqno');
  const [name, value] = [...query].find(([each]) => Object.hasOwn(NAMED, each)) ?? [];
  if (name === undefined) return undefined;
  return { [NAMED[name]]: NAMED[name] === 'seqno' ? Number(value) : value };
}
