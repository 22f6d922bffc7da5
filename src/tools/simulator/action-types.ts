/** Types of actions that every client can read. */
const FIRST_TYPES = ['ton_transfer', 'jetton_transfer'];

/** Later types, which every large trace has. A client only gets those that it asks for. */
export const LATER_TYPES = ['contract_call', 'multisig_approve', 'dns_purchase', 'nft_transfer'] as const;

/** Words that stand for several types. */
const SHORTCUTS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    v1: FIRST_TYPES,
    v2: [...FIRST_TYPES, 'contract_call', 'multisig_approve'],
    v3: [...FIRST_TYPES, ...LATER_TYPES],
    latest: [...FIRST_TYPES, ...LATER_TYPES],
    jettons: ['jetton_transfer'],
    multisig: ['multisig_approve'],
    nft: ['nft_transfer'],
    'nft.v3': ['nft_transfer', 'dns_purchase'],
    dns: [],
    'dns.v2': ['dns_purchase'],
  }),
);

/**
 * The action types that words (of `X-Actions-Version` or `supported_action_types`) stand for: versions, shortcuts and
 * types, all in their exact spelling. Those of v1 are always among them, so that an unknown word means v1.
 */
export function expandActionTypes(words: readonly string[]): readonly string[] {
  return [...FIRST_TYPES, ...words.flatMap((word) => SHORTCUTS.get(word) ?? [word])];
}
