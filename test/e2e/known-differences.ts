/** Rows of the table of inputs for which toncache's answer differs from the indexer's, with the reason. */
export interface KnownDifference {
  readonly reason: string;
  /** In front of one version only. Default: both. */
  readonly version?: '1.2' | '1.3';
  /** The rows by their names: each of them differs. */
  readonly rows: RegExp;
  /** The status of toncache's answer to each of them. */
  readonly status: number;
}

/** Not listed row by row: if the indexer refuses an input with 422, toncache does so in its own words. */
export const REFUSED_IN_OWN_WORDS = 422;

/**
 * All other differences. The list is exact: a row that differs must be in it, and a row in it must differ, so that no
 * fixed difference stays listed.
 */
export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  // Answered here, and not by the indexer.
  {
    reason: 'unpadded base64 is a spelling that clients send and 1.3 reads',
    version: '1.2',
    rows: /hash=\{(hash|message)\.base64(url)?Unpadded/,
    status: 200,
  },
  {
    reason: '0X is a spelling that 1.3 reads',
    version: '1.2',
    rows: /^pendingTraces\?ext_msg_hash=0X/,
    status: 200,
  },
  {
    reason: '0X is a spelling that 1.3 reads, here of an unknown hash',
    version: '1.2',
    rows: /^adjacentTransactions\?hash=0X/,
    status: 404,
  },
  {
    reason: 'a raw plus, and a space in base64, can only have been a plus',
    rows: /hash=\{(hash|message)\.base64(Unpadded)?:(raw|spaced)\}$/,
    status: 200,
  },
  {
    reason: 'a raw plus, and a space in base64, can only have been a plus',
    rows: /\?account=\{account\.\w*[bB]ounceable:(raw|spaced)\}$/,
    status: 200,
  },
  {
    reason: 'ext_msg_hash[0] can mean nothing else than a member of the list; the indexer does not read it',
    rows: /^pendingTraces\?ext_msg_hash(\[0\]|%5b12%5d)=/,
    status: 200,
  },
  {
    reason: '1.2 reads seqno by its exact name only, where all other names may be in any case and end in []',
    version: '1.2',
    rows: /^masterchainBlockShards\?(SEQNO|Seqno|seqno\[\]|seqno%5B%5D)=/,
    status: 200,
  },
  {
    reason: 'the indexer reads the flags of the query by their exact names only, and ignores these',
    rows: /base64\}&(X_NO_ADDRESS_BOOK|X_no_address_book|x_no_address_book(\[\]|%5B%5D))=true$/,
    status: 200,
  },
  {
    reason: 'the indexer reads the flags of the query by their exact names only, and ignores these',
    rows: /base64\}&(X_NO_METADATA|X_no_metadata|x_no_metadata(\[\]|%5B%5D))=true$/,
    status: 200,
  },
  {
    reason: 'a header that is sent twice arrives as one with a comma: as long as both say the same, that counts',
    rows: /X-Actions-Version: latest,latest$/,
    status: 200,
  },
  {
    reason: '1.2 answers an empty sort with 500, and 1.3 ignores it: an empty one counts as absent',
    version: '1.2',
    rows: /seqno\}&sort(=(&sort=)?)?$/,
    status: 200,
  },
  {
    reason: 'of two cases of one name the indexer takes one at random',
    rows: /^pendingTraces\?ext_msg_hash=\{message\.base64\}&EXT_MSG_HASH=/,
    status: 200,
  },
  {
    reason: 'the indexer refuses a bracket that is not closed, also in a name that it does not read',
    rows: /[?&]x\[=1/,
    status: 200,
  },
  {
    reason: 'a timeout that the client chose is never forwarded: it would make false absences for everybody',
    rows: /(&x_timeout=| {2}X-Timeout: )(1|0|-5)$/,
    status: 200,
  },

  // Refused here, and answered by the indexer, or refused by it with another status.
  {
    reason:
      'seqno is plain digits of an int32: 1.2 takes the rest for 0 or cuts its upper bits off, 1.3 takes none for 0',
    rows: /^masterchainBlockShards\?(seqno=(%2B\{seqno\}|\{wrapped\}|-1|1\.0|1e3|0x10|many|2147483648|9+)?|seqno)?$/,
    status: 422,
  },
  {
    reason: 'seqno is plain digits: 1.2 takes anything else for 0',
    version: '1.2',
    rows: /^masterchainBlockShards\?seqno=(%201|1%20|1%00|%EF%BC%91|%2531)$/,
    status: 422,
  },
  {
    reason: 'seqno is missing: the indexer does not read these names either, and answers for 0',
    rows: /^masterchainBlockShards\?(seqno(\[0\]|%5b12%5d|\[x\])|%2573eqno|%20seqno|\?seqno)=\{seqno\}$/,
    status: 422,
  },
  {
    reason: 'hash is missing: a 404 would say that there is nothing, and a 500 would be asked for again',
    rows: /^adjacentTransactions\?((hash(\[0\]|%5b12%5d|\[x\])|%2568ash|%20hash|\?hash)=\{hash\.base64\})?$/,
    status: 422,
  },
  {
    reason: 'limit is 1 to 1000 in plain digits: other numbers are mistakes, which 1 block would hide',
    rows: /&limit=(%2B1|0|-1|1001)$/,
    status: 422,
  },
  {
    reason: 'offset is plain digits: negative ones are mistakes',
    rows: /&offset=-[01]$/,
    status: 422,
  },
  {
    reason: 'sort is asc or desc: 1.2 fails with 500 at other words, 1.3 does not read it at all',
    rows: /&sort=(up|asc%20)$/,
    status: 422,
  },
  {
    reason: '1.2 does not look how many bytes 44 characters of base64 hold: a hash of 31 or 33 is a mistake',
    version: '1.2',
    rows: /hash=(A{44}|A{42}%3D%3D)$/,
    status: 422,
  },
  {
    reason: 'the indexer does not look at the tag byte of an address: an unknown one is a mistake',
    rows: /^pendingTraces\?account=(\{account\.unknownTag\}|A{48})$/,
    status: 422,
  },
  {
    reason: '1.3 reads spaces around a raw address, and two words for no account',
    version: '1.3',
    rows: /^pendingTraces\?account=(%20\{account\.raw\}%20|null|addr_none)$/,
    status: 422,
  },
  {
    reason: 'the indexer reads any number of empty brackets behind a name; hash is missing here',
    rows: /^adjacentTransactions\?hash\[\]\[\]=/,
    status: 422,
  },
  {
    reason: '1.3 ignores white space around a hash; here a space in base64 is a plus',
    version: '1.3',
    rows: /hash=(%20A{43}%3D|\{message\.base64\},%20\{second\.hex\})$/,
    status: 422,
  },
  {
    reason: 'a workchain is an int8 without sign for plus and without zeros before it: another one is a mistake',
    rows: /^pendingTraces\?account=(00|%2B0|-0|128|-129):/,
    status: 422,
  },
  {
    reason: 'words of more than 64 characters are no action types: they would only make keys long',
    rows: /(&supported_action_types=| {2}X-Actions-Version: )a{65}$/,
    status: 422,
  },
  {
    reason: 'a header that is sent twice arrives as one with a comma: different words contradict each other',
    rows: / {2}X-[\w-]+: (v1,v2|latest,|latest \| v2|1 \| v2)$/,
    status: 422,
  },

  // Refused here because a scalar is given twice with different meanings: the one that counts depends on the version.
  {
    reason: 'seqno twice: the first counts in 1.2, the last in 1.3',
    rows: /^masterchainBlockShards\?seqno=([^&]*)&seqno=(?!\1$)/,
    status: 422,
  },
  {
    reason: 'no seqno twice: as once',
    rows: /^masterchainBlockShards\?seqno=(x?)&seqno=\1$/,
    status: 422,
  },
  {
    reason: 'limit twice, with different meanings; the last counts',
    rows: /&limit=(1&limit=2|2&limit=1?|x&limit=[12]?|&limit=2)$/,
    status: 422,
  },
  {
    reason: 'offset twice, with different meanings; the last counts',
    rows: /&offset=(1&offset=2?|2&offset=1?|x&offset=[12]?|&offset=[12])$/,
    status: 422,
  },
  {
    reason: 'sort twice, with different meanings; the last counts in 1.2, and none in 1.3',
    rows: /&sort=(asc&sort=(desc|up)?|desc&sort=(asc|up)?|up&sort=(asc|desc|up)?|&sort=(asc|desc|up))$/,
    status: 422,
  },
  {
    reason: 'hash twice, with different values or an invalid first one; the last counts',
    rows: /^adjacentTransactions\?hash=([^&]*)&hash=(?!\1$)\{/,
    status: 422,
  },
  {
    reason: 'direction twice, with different meanings; the last counts',
    rows: /&direction=(in&direction=(out|both)?|out&direction=(in|both)?|(both)?&direction=(in|out))$/,
    status: 422,
  },
  {
    reason: 'a flag twice, with different meanings; the last counts',
    rows: /&(x_no_address_book|x_no_metadata)=(true&\1=(false|maybe)?|(false|maybe)?&\1=true)$/,
    status: 422,
  },
  {
    reason: 'the first of two accounts is invalid: the last counts there, and all of them in the specification',
    rows: /^pendingTraces\?account=(nobody)?&account=\{/,
    status: 422,
  },

  // toncache reads another path than the indexer.
  {
    reason: 'the indexer takes two slashes at the end of a path: no client sends them',
    rows: /^\w+\/\/\?/,
    status: 501,
  },

  // Neither here nor there.
  {
    reason: 'a path outside the API is refused in own words',
    rows: /^(masterchainBlockShard|adjacentTransaction|pendingTrace)\?/,
    status: 501,
  },
];
