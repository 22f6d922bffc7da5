/** The selector of a purge that ends the answers to a request; `undefined` if a purge cannot name them. */
export function purgeOf(request) {
  const query = new URLSearchParams(request.slice(request.indexOf('?') + 1).replaceAll('+', '%2B'));
  const seqno = query.get('seqno');
  if (seqno !== null) return { seqno: Number(seqno) };
  const account = query.get('account');
  if (account !== null) return { account };
  const hash = query.get('hash') ?? query.get('ext_msg_hash');
  return hash === null ? undefined : { hash };
}
